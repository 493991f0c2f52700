package trace

import "github.com/weir-mcp/weir/overlay"

// A directory holds the names that results of a session list for ids.
type directory struct {
	names map[thing]string // of ids
	ids   map[thing]string // of names; "" of a name that several have
}

// A thing is an id or a name in a directory of a server.
type thing struct{ server, text string }

// longestName is how long an id and a name together may be.
const longestName = 2 << 10

// add notes the names that people call the things in a directory by. A name that two things have is nobody's.
func (d *directory) add(server string, listed []overlay.Named) {
	for _, n := range listed {
		id, name := thing{server, n.ID}, thing{server, n.Name}
		if len(d.names) >= maxDestinations || len(n.ID)+len(n.Name) > longestName {
			return
		}
		if had, ok := d.ids[name]; ok && had != n.ID {
			d.ids[name] = ""
			continue
		}
		d.ids[name], d.names[id] = n.ID, n.Name
	}
}

// name returns the name of an id, if no other thing of the server has it; else "".
func (d *directory) name(server, id string) string {
	name := d.names[thing{server, id}]
	if d.ids[thing{server, name}] != id {
		return ""
	}
	return name
}
