package files

import (
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
)

// An endpoint is where Weir serves.
type endpoint struct {
	name string // as it is configured
	host string // as [address.Host] has it
	port int
}

func endpoints(addresses []string) (all []endpoint) {
	for _, name := range addresses {
		i := strings.LastIndexByte(name, ':')
		if port, err := strconv.Atoi(name[i+1:]); err == nil && port > 0 {
			all = append(all, endpoint{name, address.Host(name[:max(i, 0)]), port})
		}
	}
	return all
}

// address says whether a text names an address where Weir serves, in any spelling that a program may take for it.
func (c *check) address(a guard.Text) string {
	if len(c.endpoints) == 0 {
		return ""
	}
	for _, text := range readings(a.Text) {
		for i := range c.endpoints {
			e := &c.endpoints[i]
			if c.leadsTo(e, text, !a.Content) || isPort(a, e.port) && c.isHostGiven(e) || isCommand(a.Path) && connects(c, e, text) {
				return "weir itself at " + e.name
			}
		}
	}
	return ""
}

// readings returns the texts that a reader of URLs may make of one (URL Standard, 4.4): without line ends and tabs, in
// compatible characters, without escapes.
func readings(text string) []string {
	all := []string{text, address.Fold(text)}
	if strings.ContainsAny(text, "\t\r\n") {
		all = appendNew(all, withoutBreaks.Replace(all[1]))
	}
	if plain, err := url.PathUnescape(all[1]); err == nil && plain != all[1] {
		all = appendNew(all, address.Fold(plain))
	}
	return slices.Compact(all)
}

var withoutBreaks = strings.NewReplacer("\t", "", "\r", "", "\n", "")

// gaps are the characters between a host and its port in commands and code, of which there are a few.
const (
	gaps      = " \t\r\n:,'\"()/|"
	widestGap = 8
)

// hostEnds are the characters before a host.
const hostEnds = " \t\r\n\"'`<>(){}|,;=?&#^*/\\@"

// leadsTo reports whether a text names an endpoint: its port after a host that is this machine or the endpoint's. The
// schemes http and https have ports of their own. In loose text, more than a colon can be between the two.
func (c *check) leadsTo(e *endpoint, text string, loose bool) bool {
	if e.port == 80 || e.port == 443 {
		if slices.ContainsFunc(address.Find(text), func(p address.Place) bool { return c.isHere(p.Host, e) }) {
			return true
		}
	}
	digits := strconv.Itoa(e.port)
	for from := 0; ; {
		i := strings.Index(text[from:], digits)
		if i < 0 {
			return false
		}
		begins := max(0, from+i-longestHost)
		before := strings.TrimRight(text[begins:from+i], "0")
		if before == "" && begins > 0 {
			return true // nobody looks further
		}
		from += i + len(digits)
		if isDigitAt(text, from) || isDigitAt(before, len(before)-1) {
			continue
		}
		if host, given := hostBefore(before, loose); given && (host == "" || c.isHere(host, e)) {
			return true
		}
	}
}

// longestHost is how far before a port its host is looked for, and longestIPv6 how far an address in brackets, in
// bytes: none is longer.
const (
	longestHost = 1 << 10
	longestIPv6 = 128
)

func isDigitAt(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }

// hostBefore returns the host at the end of a text that goes on with a port, from its last colon on unless it is in
// brackets. It is "", and given, if there is a colon and no host, which stands for this machine. It looks no further
// back than to the sign before the host, so that all ports of a text take time in proportion to the text.
func hostBefore(text string, loose bool) (host string, given bool) {
	before, given := strings.CutSuffix(text, ":")
	if !given {
		before = strings.TrimRight(text, gaps)
		if n := len(text) - len(before); !loose || n == 0 || n > widestGap {
			return "", false
		}
	}
	if strings.HasSuffix(before, "]") {
		before = before[max(0, len(before)-longestIPv6):]
		open := strings.LastIndexByte(before, '[')
		if open < 0 || strings.ContainsAny(before[open:], hostEnds) {
			return "", false
		}
		return before[open:], true
	}
	i := len(before) - 1
	for i >= 0 && before[i] != ':' && strings.IndexByte(hostEnds, before[i]) < 0 {
		i--
	}
	host = before[i+1:]
	return host, host != "" || given && (i < 0 || before[i] != ':')
}

// isHere reports whether a host is, or may be, this machine or the host of an endpoint.
func (c *check) isHere(text string, e *endpoint) bool {
	if i := strings.LastIndexByte(text, '['); i >= 0 { // an address of IPv6, which has many spellings
		return strings.HasSuffix(text, "]") && strings.Contains(text[i:], ":")
	}
	text = text[strings.LastIndexByte(text, ':')+1:] // http:127.0.0.1
	host := address.Host(text)
	if host == "" {
		return strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsUnspecified() || host == e.host || strings.HasPrefix(text, "0")
	}
	return host == e.host || host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(c.machine(), host)
}

// machine returns the names of this machine that no DNS is asked for.
func (c *check) machine() []string {
	if c.hosts != nil {
		return c.hosts
	}
	c.hosts = []string{"localhost.localdomain", "ip6-localhost", "ip6-loopback", "host.docker.internal", "gateway.docker.internal",
		"host.containers.internal", "host.lima.internal"}
	if name, err := os.Hostname(); err == nil {
		name = strings.ToLower(name)
		c.hosts = appendNew(c.hosts, name, name+".local")
	}
	hosts, _ := readSome("/etc/hosts")
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if a, err := netip.ParseAddr(fields[0]); err == nil && (a.IsLoopback() || a.IsUnspecified()) {
			for _, name := range fields[1:] {
				c.hosts = appendNew(c.hosts, address.Host(name))
			}
		}
	}
	return c.hosts
}

// isPort reports whether an argument is a port by its name, and this one.
func isPort(a guard.Text, port int) bool {
	return slices.Contains(numbers(strings.TrimSpace(a.Text)), port) &&
		slices.Contains(speech.NameWords(a.Path), "port")
}

// isHostGiven reports whether another argument of the call is a host that leads to an endpoint.
func (c *check) isHostGiven(e *endpoint) bool {
	given, known := c.given[e]
	if !known {
		if c.given == nil {
			c.given = map[*endpoint]bool{}
		}
		given = c.findsHost(e)
		c.given[e] = given
	}
	return given
}

func (c *check) findsHost(e *endpoint) bool {
	return slices.ContainsFunc(c.touch.Texts, func(a guard.Text) bool {
		text := address.Fold(strings.TrimSpace(a.Text))
		return !a.Name && strings.Trim(text, "0123456789") != "" && text != "" && !strings.ContainsAny(text, hostEnds) && c.isHere(text, e)
	})
}
