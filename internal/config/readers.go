package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/spelling"
)

// readReaders reads the groups of readers.
func readReaders(r reader, m member) {
	groups, _ := r.entries(m)
	r.d.Config.Own.Readers = map[string][]string{}
	for _, group := range groups {
		var members []string
		r.texts(&members)(group)
		r.d.Config.Own.Readers[group.key] = members
		r.d.Set(Pointer("readers", group.key), group.at)
	}
}

// maxReaders is how many groups of readers there may be: each label of private data may name all of them.
const maxReaders = 64

// checkReaders checks the groups of readers, and that servers name no others.
func checkReaders(d *Draft) {
	groups := d.Config.Own.Readers
	servers := map[string]bool{}
	for _, s := range d.Config.Servers {
		servers[s.Name] = true
	}
	if len(groups) > maxReaders {
		d.Fault(d.Place(Pointer("readers")), "join groups that are used alike",
			"readers: %d groups, more than the %d that there may be", len(groups), maxReaders)
	}
	for name, members := range groups {
		at := d.Place(Pointer("readers", name))
		if !principalName().MatchString(name) || len(members) == 0 {
			d.Fault(at, "give each group a name of letters, digits and ._@- and at least one member", "readers: bad group %.80q", name)
		}
		for _, m := range members {
			server, place, isPlace := strings.Cut(m, ":")
			switch mailDomain, isDomain := strings.CutPrefix(m, "@"); {
			case address.BareMail(m) != "", isDomain && domain().MatchString(strings.ToLower(mailDomain)):
			case isPlace && servers[server] && place != "":
			default:
				d.Fault(at, "write ann@example.com, @example.com or SERVER:DESTINATION with the name of a server",
					"readers: bad member %.80q of %s", m, name)
			}
		}
	}
	for _, s := range d.Config.Servers {
		for _, name := range s.Readers {
			if _, ok := groups[name]; !ok {
				d.Fault(d.Place(Pointer("servers", s.Name, "readers")), spelling.DidYouMean(name, slices.Sorted(maps.Keys(groups))),
					"server %s: no group of readers has the name %.80q", s.Name, name)
			}
		}
	}
}
