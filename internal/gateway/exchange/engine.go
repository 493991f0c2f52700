// Package exchange takes requests of agents through the guard, to their servers and back.
//
// An [Engine] is made once for a gateway. A [Host] is one host connection with its requests: Exchange routes a request, asks the guard, and
// where policy says so a person, sends the request, and delivers the answer as far as the guard lets it. A request whose server asks for input
// in the middle goes on in rounds, or is suspended until the host comes back. An error on the way is never an allow.
package exchange

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/sanitize"
)

// MaxNotice bounds a name in a log message, in characters.
const MaxNotice = 80

// An Engine is shared by all requests of a gateway on their way through the guard.
type Engine struct {
	Options
	sealer    *sealer
	suspended *suspended
	holding   holding
	schemas   inputschema.Cache
	offers    atomic.Pointer[Offers]
	running   programs
	approval  atomic.Int64 // how long the gateway waits for a person, a time.Duration

	hastily sync.Mutex
	hasty   *bounded.Map[string, bool] // ids of approval requests that a host has answered faster than a person reads
}

// maxHasty bounds the requests whose hosts are remembered to answer by themselves.
const maxHasty = 4096

// The Options of a gateway are all required, but for the last three.
type Options struct {
	Servers *backend.Registry
	Guard   *guard.Guard
	Book    *approve.Book
	State   guard.State
	Words   annotation.Words
	Log     *slog.Logger

	HostAnswers HostAnswers
	Quarantine  Quarantine           // answers questions about hidden values; nil: nobody does
	Interpreter Interpreter          // runs programs of agents; nil: none are run
	Sanitizers  *sanitize.Sanitizers // nil: there are none
}

// HostAnswers says which answers of hosts to approval requests count, and how it goes on where none can. The zero HostAnswers counts all.
type HostAnswers struct {
	None bool          // hosts are not asked: people answer elsewhere
	Pace time.Duration // an answer that comes sooner after the request is nobody's: people read

	Hold    time.Duration // for which a call waits for an answer elsewhere if its host cannot ask; zero: it is refused at once
	Console string        // the URL at which people answer; "" if there is none
}

// remedy says how a call goes on whose request is answered elsewhere than in the host.
func (h *HostAnswers) remedy(id string) string {
	text := "the request waits in Weir. Have the user run " + approve.Command(id)
	if h.Console != "" {
		text += ", or open " + h.Console
	}
	return text + "; then make the same call again"
}

// New returns an engine.
func New(opts Options) (*Engine, error) {
	sealer, err := newSealer()
	if err != nil {
		return nil, err
	}
	g := &Engine{Options: opts, sealer: sealer, suspended: newSuspended(), hasty: bounded.NewMap[string, bool](maxHasty)}
	g.Offer(Offers{})
	return g, nil
}

// SetApproval says how long the gateway waits for a person, or for a host to come back with an answer.
func (g *Engine) SetApproval(d time.Duration) {
	g.approval.Store(int64(d))
	g.Book.SetTimeout(d)
}

// Offers is which tools of Weir's own agents get.
type Offers struct {
	Hiding   bool     // results of servers may be hidden
	Planning bool     // agents may submit plans where none is
	Programs bool     // agents may have programs run, which hide results
	Isolates []string // names of the hosts that may isolate agent sessions, which return hidden values
}

// Offer says which tools of Weir's own agents get. It reports whether these are others than before.
func (g *Engine) Offer(o Offers) (changed bool) {
	o.Programs = o.Programs && g.Interpreter != nil
	o.Hiding = o.Hiding || o.Programs || len(o.Isolates) > 0
	o.Planning = o.Planning || o.Hiding
	if o.Hiding {
		g.Guard.Hidden.Use()
	}
	before := g.offers.Swap(&o)
	return before == nil || before.Hiding != o.Hiding || before.Planning != o.Planning || before.Programs != o.Programs ||
		(len(before.Isolates) > 0) != (len(o.Isolates) > 0)
}

// Hiding reports whether results of servers may be hidden.
func (g *Engine) Hiding() bool { return g.offers.Load().Hiding }

// Planning reports whether agents may submit plans.
func (g *Engine) Planning() bool { return g.offers.Load().Planning }

// Programs reports whether agents may have programs run.
func (g *Engine) Programs() bool { return g.offers.Load().Programs }

// Isolating returns the names of the hosts that may isolate agent sessions.
func (g *Engine) Isolating() []string { return g.offers.Load().Isolates }

// patience returns how long the gateway waits for a person, or for a host to come back with an answer.
func (g *Engine) patience() time.Duration { return time.Duration(g.approval.Load()) }

// Close ends every call that waits for its host.
func (g *Engine) Close() { g.suspended.close() }

// A Peer is one host connection.
type Peer interface {
	backend.Host

	// Request asks the host something and waits for its answer.
	Request(ctx context.Context, method string, params json.RawMessage) (*rpc.Message, error)
}

// A Host is one host connection, for the requests that come over it.
type Host struct {
	Engine *Engine
	Agents *agentsession.Tracker
	peer   Peer
}

// Host returns the side of a host connection whose agent sessions a tracker finds.
func (g *Engine) Host(p Peer, agents *agentsession.Tracker) *Host {
	return &Host{peer: p, Engine: g, Agents: agents}
}

// Handshake returns the client of the handshake, for a request that does not name its client.
func (f *Host) Handshake(method string) (*protocol.Client, *rpc.Error) {
	who := f.Agents.Handshake()
	if who == nil {
		return nil, &rpc.Error{Code: rpc.InvalidRequest, Message: "not initialized: begin with initialize, or name the revision in _meta"}
	}
	if protocol.OfOtherEra(method, false) {
		return nil, rpc.Errorf(rpc.MethodNotFound, "method not found in revision %s: %s", who.Version, method)
	}
	return who, nil
}

// InternalError answers a request with an error that is no JSON-RPC error of a server: the part of it that a host may be shown. The log
// has all of it.
func (f *Host) InternalError(m *rpc.Message, err error) *rpc.Message {
	f.Engine.Log.Warn("answering with an error", "method", plain.Text(m.Method, MaxNotice), "error", err)
	return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err)))
}
