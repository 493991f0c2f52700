package exchange

import (
	"crypto/rand"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/hosterror"
)

// Servers ask as well: of a host of an older revision in requests of their own, of one of 2026-07-28 in results. Both ways
// the guard sees the question before the host does, and the answer before the server does.

var errWhose = hosterror.New("several agent sessions could be meant, and nothing says which")

// whose finds the call that a server's question to a host of an older revision belongs to: the newest call in flight, as long as
// all of them are of one agent session, else the connection.
func whose(f *Host, set *backend.Set, l *backend.Conn) (*backend.Request, *guard.Call, error) {
	found := l.Carrying()
	for _, other := range found {
		if other.Call.Session != found[0].Call.Session {
			return nil, nil, errWhose
		}
	}
	if len(found) > 0 {
		newest := found[len(found)-1]
		return newest, newest.Call, nil
	}
	ref, ok := f.Agents.Only()
	if !ok {
		return nil, nil, errWhose
	}
	return nil, &guard.Call{
		ID: rand.Text(), Session: ref, Server: l.Name(), Trust: l.Trust(), Effective: contract.Pessimistic(),
		Context: set.Shown(),
	}, nil
}
