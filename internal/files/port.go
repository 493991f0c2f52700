package files

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
)

// networkWords are words of commands and code that speak to a port.
var networkWords = []string{"port", "ports", "connect", "connection", "socket", "sock", "tcp", "dial", "http", "https", "ws", "wss",
	"fetch", "request",
	"requests", "url", "uri", "host", "hostname", "curl", "wget", "nc", "ncat", "netcat", "telnet", "socat", "ssh", "client", "net", "proxy"}

// firstPort is the first port that needs no rights of the administrator: smaller numbers stand for too much else.
const firstPort = 1024

// connects reports whether a command, or code, may speak to an endpoint although host and port stand apart in it: the
// port is a number of its own there, and so is a name of this machine, or no host is and a word speaks of the network.
func connects(c *check, e *endpoint, text string) bool {
	if e.port < firstPort || !holdsNumber(text, e.port) {
		return false
	}
	if namesHere(c, e, text) {
		return true
	}
	speaks := slices.ContainsFunc(speech.NameWords(text), func(w string) bool { return slices.Contains(networkWords, w) })
	return speaks && !slices.ContainsFunc(address.Find(text), func(p address.Place) bool { return p.Host != "" })
}

// holdsNumber reports whether a number of its own in a text is that one, in any base that a program may write it in.
func holdsNumber(text string, number int) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) < len("1024") || len(word) > maxNumber || !isDigitAt(word, 0) {
			continue
		}
		for _, base := range []int{10, 0} {
			if n, err := strconv.ParseUint(strings.ReplaceAll(word, "_", ""), base, 32); err == nil && n == uint64(number) {
				return true
			}
		}
	}
	return false
}

// namesHere reports whether a word of a text is a name of this machine, or of the host of an endpoint.
func namesHere(c *check, e *endpoint, text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '[' || r == ']' || strings.ContainsRune(hostEnds, r) }) {
		if len(word) > longestHost {
			continue
		}
		if a, err := netip.ParseAddr(word); err == nil && a.Is6() && (a.IsLoopback() || a.Unmap().IsLoopback() || a.IsUnspecified()) {
			return true
		}
		for part := range strings.SplitSeq(word, ":") {
			if strings.ContainsFunc(part, unicode.IsLetter) || strings.Contains(part, ".") || len(part) > len("16777216") {
				if c.isHere(part, e) {
					return true
				}
			}
		}
	}
	return false
}
