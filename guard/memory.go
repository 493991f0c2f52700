package guard

import "github.com/weir-mcp/weir/guard/trace"

// A Memory is all that guards remember of agent sessions beside their state: the user's words, the texts of results,
// the amounts that receivers were told, and approvals that cover later calls. It is lost with the process. Guards that
// share one know of a session all that any of them knows, so they must stand in front of the same agents, and a name
// of a server must mean the same server to all of them. Make one with [NewMemory].
type Memory struct {
	traces  *trace.Memory
	origins origins
}

// MemoryOptions configures a Memory.
type MemoryOptions = trace.MemoryOptions

// Beside returns a memory for one guard: it has the sessions in common with this one of whose keys shares says so, and
// all others for itself. Share those alone whose key names one conversation: in a memory, words and approvals of one
// count in all others that have its key. The answer for a key must never change.
func (m *Memory) Beside(own MemoryOptions, shares func(key string) bool) *Memory {
	return &Memory{traces: m.traces.Beside(own, shares), origins: origins{common: &m.origins, shares: shares}}
}

// NewMemory returns one that remembers nothing yet.
func NewMemory(opts MemoryOptions) *Memory { return &Memory{traces: trace.NewMemory(opts)} }
