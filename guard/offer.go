package guard

import (
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/overlay"
)

// Offers are what results of a session list.
type offers struct {
	things map[thing]string // names of ids in directories of servers
	ids    map[thing]string // ids of names there; "" of a name that several have
}

// A thing is an id or a name in a directory of a server.
type thing struct{ server, text string }

// longestName is how long an id and a name together may be.
const longestName = 2 << 10

// learn notes the names that people call the things in a directory by. A name that two things have is nobody's.
func (s *memory) learn(server string, directory []overlay.Named) {
	for _, n := range directory {
		id, name := thing{server, n.ID}, thing{server, n.Name}
		if len(s.things) >= maxDestinations || len(n.ID)+len(n.Name) > longestName {
			return
		}
		if had, ok := s.ids[name]; ok && had != n.ID {
			s.ids[name] = ""
			continue
		}
		s.ids[name], s.things[id] = n.ID, n.Name
	}
}

// called reports whether a value is the id of a thing of the call's server that the wishes name as people name places to write to: #general.
func (t *tracer) called(id string) bool {
	server := t.facts.Server.Name
	name := t.memory.things[thing{server, id}]
	return t.stated && name != "" && t.memory.ids[thing{server, name}] == id && speech.Names(t.memory.wishes, "#"+name)
}
