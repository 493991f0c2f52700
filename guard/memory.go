package guard

import "github.com/weir-mcp/weir/guard/trace"

// A Memory is all that guards remember of agent sessions beside their state: the user's words, the texts of results,
// the amounts that receivers were told, and approvals that cover later calls. It is lost with the process. Guards that
// have the same one know of a session all that any of them knows: they must trust the same hosts, and describe servers
// in the same way. Others may have memories with conversations in common, see [Memory.Beside]. A name of a server must
// mean the same server to all of them. Make one with [NewMemory].
type Memory struct {
	traces  *trace.Memory
	origins origins
}

// MemoryOptions configures a Memory.
type MemoryOptions = trace.MemoryOptions

// Beside returns a memory for one guard, which has the conversations in common with this one of whose session keys
// shares says so: private data and texts that others of this kind were given are known, amounts and calls count
// together. All that may lower anything stays with the guard that it came to: the user's words, approvals, places that
// are known, trusted sources. So no guard need trust the host, the server or the configuration of another one. The
// origins that explain questions are in common. The answer for a key must never change.
func (m *Memory) Beside(own MemoryOptions, shares func(key string) bool) *Memory {
	return &Memory{traces: m.traces.Beside(own, shares), origins: origins{common: &m.origins, shares: shares}}
}

// NewMemory returns one that remembers nothing yet.
func NewMemory(opts MemoryOptions) *Memory { return &Memory{traces: trace.NewMemory(opts)} }
