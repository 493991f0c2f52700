package address

import (
	"net/netip"
	"slices"
	"strings"
)

// Personal returns the texts for all spellings of one mail address, telephone number or account; none of a text that is anything else.
func Personal(text string) (names []string) {
	if r := Read(text); r.Sure {
		if len(r.Places) == 1 && r.Places[0].Kind == Mail && strings.EqualFold(text, r.Places[0].Name) {
			return []string{r.Places[0].Name}
		}
		return nil
	}
	for i, p := range Find(text) {
		if p.Kind != Account || i == 0 && p.Text != text {
			return nil
		}
		names = append(names, p.Name) // of an IBAN also the digits alone
	}
	return names
}

// AllPersonal reports whether a text is nothing but mail addresses, or one account, with names that [Personal] returned.
func AllPersonal(text string, names []string) bool {
	if len(names) == 0 {
		return false
	}
	r := Read(text)
	if !r.Sure {
		own := Personal(text)
		return len(own) > 0 && !slices.ContainsFunc(own, func(name string) bool { return !slices.Contains(names, name) })
	}
	return !slices.ContainsFunc(r.Places, func(p Place) bool { return p.Kind != Mail || !slices.Contains(names, p.Name) })
}

// Home reports whether a host in the form of [Host] is localhost, or an address of this machine or of the private networks.
func Home(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (a.IsLoopback() || a.IsPrivate())
}
