// Package hostconn serves host connections: stdio, one session of streamable HTTP in the older revisions, or one
// request of 2026-07-28. [Serve] reads the messages of a host, answers its handshake, lists and subscriptions itself,
// and gives the other requests to package exchange. It returns when the last answer is out.
package hostconn

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The Options of a host connection say whose it is, and which connections to servers it shares.
type Options struct {
	Agents *agentsession.Tracker // finds the agent sessions of its requests
	Shared bool                  // whether connections to servers are shared with other requests of the principal
	Share  bool                  // whether HTTP sessions of one principal may share connections to servers
}

// Serve runs one host connection: it reads until the host leaves or ctx ends, answers requests concurrently, and
// returns when the last answer is out.
func Serve(ctx context.Context, conn rpc.Conn, g *exchange.Engine, o Options) error {
	f := &Conn{
		share: o.Share, conn: conn, shared: o.Shared, workers: newWorkers(),
		slots: make(chan struct{}, maxInFlight), leaving: make(chan struct{}), name: rand.Text(),
		inFlight: map[string]*request{}, asked: map[string]chan *rpc.Message{}, reports: map[string][]*backend.Conn{},
	}
	f.host = g.Host(f, o.Agents)
	f.reply = answerer{f}.answer
	var end context.CancelFunc
	f.life, end = context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	work, stop := context.WithCancel(f.life)
	err := f.read(ctx, work)
	if f.shared && ctx.Err() != nil {
		f.cancelAll() // who hangs up cancels (2026-07-28, Streamable HTTP, Cancellation)
	}
	close(f.leaving)
	drained, written := time.AfterFunc(drainTime, stop), time.AfterFunc(drainTime+writeTime, end)
	f.workers.end()
	f.workers.wg.Wait()
	drained.Stop()
	written.Stop()
	stop()
	switch {
	case f.links == nil || f.shared:
	case f.links.HasMember(f):
		err = errors.Join(err, g.Servers.Leave(f, f.links))
	default:
		err = errors.Join(err, f.links.Close())
	}
	return err
}
