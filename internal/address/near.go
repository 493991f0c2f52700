package address

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// notPublic are the blocks that are no one's on the internet (IANA, IPv4 and IPv6 Special-Purpose Address Registries, and the blocks for
// multicast and future use), and the address at which Azure answers for its own network inside every machine.
var notPublic = prefixes(
	"0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 " +
		"192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 " +
		"168.63.129.16/32 2001::/23 2001:db8::/32 3fff::/20")

// global holds the globally reachable addresses of IPv6 (RFC 4291, 2.4; IANA, IPv6 Global Unicast Address Assignments).
var global = netip.MustParsePrefix("2000::/3")

// Blocks of IPv6 in which an address of IPv4 is hidden.
var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes
	sixTo = netip.MustParsePrefix("2002::/16")    // RFC 3056: bytes two to five
)

func prefixes(list string) (all []netip.Prefix) {
	for p := range strings.FieldsSeq(list) {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// Public reports whether an address can belong to others on the internet. An address that translates to one of IPv4 is
// as public as that.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if b := a.As16(); nat64.Contains(a) {
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	} else if sixTo.Contains(a) {
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	if !a.IsValid() || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// shared is for the networks of carriers (RFC 6598), as little public as private networks.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Local reports whether an address is in the blocks from which people number their own machines and networks.
func Local(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || shared.Contains(a)
}

// Loopback reports whether a host, in the form of [Host], is the machine itself: localhost or a loopback address.
func Loopback(host string) bool {
	a, ok := parseAddr(host)
	return host == "localhost" || ok && a.Unmap().IsLoopback()
}

// inward are domains of which DNS answers with an address of the own machine or network for whoever asks: the address stands in the name, or it
// is always the same.
var inward = []string{"nip.io", "sslip.io", "xip.io", "traefik.me", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "yoogle.com", "fbi.com.localhost"}

// examples are names that stand for any public site in documents and tests (RFC 2606; RFC 6761, 6.5).
const examples = "example"

// Internal reports whether a host is, or for all that its form says may be, of the user's own machine or network: an address that is not public,
// a name without a dot, a name below no public suffix of DNS (localhost, .local, .internal, .lan and other private
// names of a network), and anything that is no host. Which address a public name leads to is known to DNS alone, and
// changes; a name for which this is false can still lead inside.
func Internal(host string) bool {
	if host = Host(host); host == "" {
		return true
	}
	if a, ok := parseAddr(host); ok {
		return !Public(a)
	}
	return !isPublicName(host) || Within(host, inward)
}

// isPublicName reports whether a name in the form of [Host] is below a public suffix of DNS.
func isPublicName(host string) bool {
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return false
	}
	if last := host[dot+1:]; last == examples {
		return true
	} else if last == "arpa" || last == "local" || last == "internal" {
		return false
	}
	_, icann := publicsuffix.PublicSuffix(host[dot+1:])
	return icann
}
