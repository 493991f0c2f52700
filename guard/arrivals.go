package guard

import (
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// Arrivals are how private data entered a session, as far as its memory has seen it enter. After a restart, and in a session that was
// forgotten, that of the label came from nobody knows where.
type arrivals struct {
	private   bool            // results brought some
	missed    bool            // some came in other ways, so it is not in the index
	servers   map[string]bool // that returned credentials
	elsewhere bool            // some credentials came from a source that is not known
}

// of notes what a label brings that raises the session. The server is that of a result; "" is a source that is not known.
func (a *arrivals) of(l label.Label, server string, indexed bool) {
	a.private = a.private || l.Private && indexed
	a.missed = a.missed || l.Private && !indexed
	switch {
	case !l.Sensitivity.Has(label.Credentials):
	case server == "":
		a.elsewhere = true
	default:
		if a.servers == nil {
			a.servers = map[string]bool{}
		}
		a.servers[server] = true
	}
}

// before notes what the label of the session holds that nothing here has brought.
func (a *arrivals) before(l label.Label, known bool) {
	a.missed = a.missed || l.Private && !(known && a.private)
	a.elsewhere = a.elsewhere || l.Sensitivity.Has(label.Credentials) && !(known && len(a.servers) > 0)
}

// only reports whether all credentials of a session that holds some came from the server.
func (a *arrivals) only(server string) bool {
	return !a.elsewhere && len(a.servers) == 1 && a.servers[server]
}

// arrive notes what a label brings that raises the call's session, and with it those above, which do not see the data itself.
func (g *Guard) arrive(c *Call, l label.Label, server string) {
	m := g.memory(c)
	m.mu.Lock()
	m.arrivals.of(l, server, server != "")
	m.mu.Unlock()
	if l.Private || l.Sensitivity.Has(label.Credentials) {
		g.memories.above(c.Session, func(m *memory) { m.arrivals.of(l, server, false) })
	}
}

// secretsOf reports whether the session may hold credentials of another server than the call's. Those of the sessions above it
// count, as their labels do.
func (g *Guard) secretsOf(c *Call, m *memory, f *policy.SessionFacts) (others bool) {
	held := f.Label.Sensitivity.Has(label.Credentials)
	if held {
		g.memories.above(c.Session, func(above *memory) {
			for server := range above.arrivals.servers {
				others = others || server != c.Server
			}
		})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrivals.before(f.Label, m.traced)
	return held && (others || !m.arrivals.only(c.Server) || m.told.foreign(f.Calls) > 0)
}

// tells reports whether a call may hold something that the session has read: a value is neither, as a whole, the user's nor a trusted
// source's that is nobody's secret, or there is more beside the values than next to nothing.
func (found *finding) tells() bool {
	for i := range found.values {
		if v := &found.values[i]; !v.copies(provenance.User|provenance.Trusted) && v.Text != "" && v.Text != "true" && v.Text != "false" {
			return true
		}
	}
	return found.cut || !found.bare()
}

// verbatim reports whether there is a value, each is the user's as a whole, and there is next to nothing beside them.
func (found *finding) verbatim() bool {
	for i := range found.values {
		if !found.values[i].copies(provenance.User) {
			return false
		}
	}
	return len(found.values) > 0 && !found.cut && found.bare()
}

// copies reports whether the value is, as a whole, one piece of a source of these kinds.
func (v *Value) copies(from provenance.Kinds) bool { return v.Whole && v.From.Only(from) }
