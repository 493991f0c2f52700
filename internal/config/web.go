package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ownHeaders are the headers that the transports set: a configured value would contradict them.
var ownHeaders = []string{"accept", "connection", "content-length", "content-type", "host", "last-event-id",
	"mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding"}

// checkURL checks the expanded URL. No message quotes it: its path or query may hold a key.
func checkURL(c checker) {
	at := c.at("url")
	u, err := url.Parse(c.s.URL)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "":
		c.fault(at, "write it as https://host/path", "url: not an absolute URL")
	case u.Scheme != "http" && u.Scheme != "https":
		c.fault(at, "use https:// or http://", "url: the scheme is neither http nor https")
	case u.Hostname() == "" || !validPort(u.Port(), u.Port() == ""):
		c.fault(at, "write it as https://host:port/path", "url: a bad host or port")
	case u.User != nil:
		c.fault(at, "send an Authorization header instead", "url: a user or password inside the URL")
	case u.Fragment != "":
		c.fault(at, "remove # and the text after it", "url: a fragment, which is never sent")
	case u.Scheme == "http" && len(c.s.Headers) > 0 && !Loopback(u.Hostname()):
		c.d.Warn(at, "use https", "server %q: its headers cross the network unencrypted", c.s.Name)
	}
}

// checkHeader checks the header named k. No message quotes the name: who writes "Authorization: Bearer …" as
// one string has put the secret there.
func checkHeader(c checker, k string) {
	at := c.at("headers", k)
	switch {
	case !token(k):
		c.fault(at, "write Name: value, with the value apart", "headers: a name that HTTP does not allow")
	case slices.Contains(ownHeaders, strings.ToLower(k)):
		c.fault(at, "remove it", "headers: %s is set by weir", k)
	case strings.ContainsFunc(c.s.Headers[k], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		c.fault(at, "remove line breaks and control characters", "headers: the value of %s is not allowed in HTTP", k)
	}
}

// token reports whether s is a token of RFC 9110, 5.6.2.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// ParseListen checks an address to listen on, and returns it with 127.0.0.1 for a host that is left out: to
// readListen on every interface one has to say so. Open tells that others than this machine may connect.
func ParseListen(s string) (addr string, open, ok bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || !validPort(port, false) || strings.ContainsAny(host, " /") {
		return "", false, false
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), !Loopback(host), true
}

func validPort(s string, ok bool) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return ok || err == nil && n <= 65535
}

// Loopback reports whether a host name or address is this machine's own, by its looks.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// readConsole reads the address of the console, which is served on this machine only.
func readConsole(r reader, m member) {
	s, ok := r.scalar(m, "an address, 127.0.0.1:7777")
	if !ok {
		return
	}
	addr, open, ok := ParseListen(s)
	if !ok || open {
		r.d.Fault(m.at, "write 127.0.0.1:PORT", "console: not an address of this machine: %.80q", s)
		return
	}
	r.d.Config.Console = addr
}
