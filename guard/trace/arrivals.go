package trace

import "github.com/weir-mcp/weir/label"

// Arrivals tell how private data entered a session, as far as its trace has seen it enter. After a restart, and in a
// session that was evicted, the data of the label came from unknown sources.
type arrivals struct {
	private   bool            // results brought some
	missed    bool            // some came in other ways, so it is not in the index
	servers   map[string]bool // that returned credentials
	elsewhere bool            // some credentials came from a source that is not known
	awaited   map[string]bool // calls whose answers the agent may have seen and the trace has not
}

// begin notes the data in the label of the session that nothing here has brought.
func (a *arrivals) begin(l label.Label, known bool) {
	a.missed = a.missed || l.Private && !(known && a.private)
	a.elsewhere = a.elsewhere || l.Sensitivity.Has(label.Credentials) && !(known && len(a.servers) > 0)
}

// only reports whether all credentials of a session that holds some came from the server.
func (a *arrivals) only(server string) bool {
	return !a.elsewhere && len(a.servers) == 1 && a.servers[server]
}

// maxAwaited is how many calls a trace awaits. If there are more, some count as awaited for good.
const maxAwaited = 256

// await notes a call whose answer the agent may see before the trace does.
func (a *arrivals) await(id string) {
	if a.awaited == nil {
		a.awaited = map[string]bool{}
	}
	if len(a.awaited) >= maxAwaited {
		id = "" // which no call has
	}
	a.awaited[id] = true
}
