package exchange

import (
	"crypto/rand"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
)

// Servers ask as well: of a host of an older revision in requests of their own, of one of 2026-07-28 in results. Both ways
// the guard sees the question before the host does, and the answer before the server does.

// whose finds the call that a server's question to a host of an older revision belongs to. The request is nil if none is in flight.
func whose(f *Host, set *backend.Set, l *backend.Conn) (*backend.Request, *guard.Call, error) {
	found := l.Carrying()
	calls := make([]*guard.Call, len(found))
	for i, req := range found {
		calls[i] = req.Call
	}
	call, i, err := guard.Pair(calls, f.Agents.Only, guard.Call{
		ID: rand.Text(), Server: l.Name(), Way: l.Way(), Trust: l.Trust(), Context: set.Shown(), Tools: set.Tools(),
	})
	if err != nil || i < 0 {
		return nil, call, err
	}
	return found[i], call, nil
}
