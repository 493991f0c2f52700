package address

import (
	"slices"
)

// A scanner finds the places in a text.
type scanner struct {
	wide  bool // the text states a destination, so that every text like a host is one
	found []Place
}

func (s *scanner) add(p Place) {
	if !slices.Contains(s.found, p) {
		s.found = append(s.found, p)
	}
}

// hosts adds a place for each host.
func (s *scanner) hosts(kind Kind, text string, hosts []string) {
	for _, h := range hosts {
		s.add(Place{kind, text, h, h})
	}
}

// Kind is the kind of a place.
type Kind uint8

// The kinds.
const (
	Web     Kind = iota // a URL, or a text that some program would take for one
	Mail                // a mail address
	Account             // a telephone number, a bank account, a wallet, a long number
	Header              // a line that a mail program would take for a field of its own
)

// A Place is somewhere that a text leads.
type Place struct {
	Kind Kind
	Text string // as it stands in the text
	Host string // in the form of [Host]; "" if there is none or none can be told
	Name string // one text for all spellings of the place; "" if none can be told
}

// A Reading is the destinations of one text.
type Reading struct {
	Places []Place
	Sure   bool // all of the text is these places, for every program
}

// Hosts returns the hosts of a reading.
func (r Reading) Hosts() []string {
	var hosts []string
	for _, p := range r.Places {
		if p.Host != "" {
			hosts = append(hosts, p.Host)
		}
	}
	return hosts
}

// Host returns the host of a sure reading with one place; else "".
func (r Reading) Host() string {
	if !r.Sure || len(r.Places) != 1 {
		return ""
	}
	return r.Places[0].Host
}
