package trace

import "github.com/weir-mcp/weir/overlay"

// A directory holds the names that results of a session list for ids.
type directory struct {
	names map[thing]Listed // of ids; without a name of an id that has had several
	ids   map[thing]string // of names; "" of a name that several have
}

// A thing is an id or a name in a directory of a server.
type thing struct{ server, text string }

// A Listed is the name that a result lists beside an id: a claim of the server. The zero Listed is that of an id
// without a name, or with several.
type Listed struct {
	Name      string
	Tool      string // whose result it is
	Untrusted bool   // the result holds untrusted content, so that anyone may have chosen the name
}

// longestName is how long an id, a name and that of the tool together may be.
const longestName = 2 << 10

// add notes the names that people call the things in a directory by, which is a result of the tool. A name that two
// things have is nobody's, and an id with two names has none.
func (d *directory) add(server string, from Listed, listed []overlay.Named) {
	for _, n := range listed {
		id, name := thing{server, n.ID}, thing{server, n.Name}
		if len(d.names) >= maxDestinations || len(n.ID)+len(n.Name)+len(from.Tool) > longestName {
			return
		}
		if had, ok := d.ids[name]; ok && had != n.ID {
			d.ids[name] = ""
			continue
		}
		switch had, ok := d.names[id]; {
		case !ok:
			d.ids[name], d.names[id] = n.ID, Listed{n.Name, from.Tool, from.Untrusted}
		case had.Name != n.Name:
			d.names[id] = Listed{}
		case had.Untrusted && !from.Untrusted:
			d.names[id] = Listed{n.Name, from.Tool, false}
		}
	}
}

// listed returns the name of an id, if no other thing of the server has it and it has no other.
func (d *directory) listed(server, id string) Listed {
	l := d.names[thing{server, id}]
	if l.Name == "" || d.ids[thing{server, l.Name}] != id {
		return Listed{}
	}
	return l
}
