// Package gateway stands between a host and its MCP servers: it merges the servers into one, asks the guard about
// everything that an agent does with them, and passes messages on as the raw JSON that they came in.
//
//	host ──► hostconn ──► exchange ──► guard.Before ──► backend ──► server
//	                         ▲                                         │
//	                         └────────────── Admission ◄───────────────┘
//
// Package hostconn serves one host connection: stdio, one session of streamable HTTP in the older revisions, or one
// request of 2026-07-28. Package exchange takes one request through the guard. Package backend holds the connections to
// servers; a host connection has its own, because in the older revisions the requests that a server may make of a host
// are agreed for each connection. The requests of 2026-07-28 over HTTP share theirs for each principal, and HTTP
// sessions of the older revisions may.
//
// Host and server need not speak the same revision. A server's request to a host of 2026-07-28 is suspended until the
// host comes back with the answer; a result that requires input is fulfilled by asking a host of an older revision;
// subscriptions are made in the server's way and announced in the host's. The package's tests go through all pairings;
// docs/protocol.md lists the messages that pass, are translated or are refused.
//
// All data between an agent and a server goes through the guard: tools/call, resources/read, prompts/get,
// completion/complete and unknown methods. The gateway itself answers the handshake of either era, the merged lists,
// and ping. A refused tool call is a result with isError, so that the model can act on the reason; any other refused
// request is the JSON-RPC error [guard.CodeRefused].
package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/gateway/hostconn"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/sanitize"
	"github.com/weir-mcp/weir/internal/streamable"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/vault"
)

// A Server is one upstream server as the operator configured it.
type Server = backend.Server

// Own is the operator's own domains, in lower case, the user's own mail addresses, and the groups of readers.
type Own struct {
	Domains, Me []string
	Readers     map[string][]string
}

// Options configures a Gateway.
type Options struct {
	Servers   []Server         // at least one
	Policy    *policy.Policy   // nil: policy.Default()
	Mode      policy.Mode      // zero: enforce
	State     guard.State      // of sessions and events; required
	Approvals store.Approvals  // where questions are kept; nil: in memory, for this gateway alone
	Approval  time.Duration    // how long a question stays open; zero: approve.DefaultTimeout
	Asked     Asked            // is told of new questions; nil: nobody is
	Startup   time.Duration    // how long hosts wait for servers that do not answer their handshake; zero: DefaultStartup
	Version   string           // of Weir, told to hosts
	BaseEnv   []string         // environment of stdio servers, "NAME=value"
	Stderr    io.Writer        // where stdio servers' standard error goes; nil: nowhere
	Budget    *budget.Budget   // limits of messages, and of hosts, servers and agent sessions together; nil: the defaults
	Logger    *slog.Logger     // nil: none
	Pins      backend.Pins     // nil: definitions may change, and nobody reviews them
	Taints    guard.Taints     // labels of resources that agents wrote to; nil: in memory, for this gateway alone
	Words     annotation.Words // annotations that are read of servers and hosts, and written to them
	Own       Own              // places of the operator and of the user
	Contents  guard.Contents   // the arguments and answers that events keep, and the search of answers
	Files     guard.Files      // of this machine; nil: the text of a path is all that is known

	Review func(server string) string // the command by which a person reviews definitions; nil: weir review and the server's name

	Remembering
	Hiding
	Hosts // who is at them, and which of their answers count
	Web   // which HTTP requests are served, and how
}

// Remembering is how agent sessions are remembered, beside their state.
type Remembering struct {
	Shared    *guard.Memory // the memory that this gateway has conversations in common with; nil: none
	TrustText string        // text that counts as the user's own in every agent session

	// Neighbors are the gateways that the same host has beside this one, and Keep keeps the label of text that it is
	// shown: see [backend.Options]. Both may be nil.
	Neighbors *backend.Neighbors
	Keep      func(label.Label) error
}

// remembering returns the memory of a gateway, in the room that it has for it. Other gateways of the process may have
// other conversations under the same key of a folder.
func (r *Remembering) remembering(room *budget.Lease) *guard.Memory {
	own := guard.MemoryOptions{TrustText: r.TrustText, Room: room}
	if r.Shared == nil {
		return guard.NewMemory(own)
	}
	return r.Shared.Beside(own, agentsession.NamesConversation)
}

// Hiding is where hidden results are kept, who answers questions about them, and where agents may submit plans.
type Hiding struct {
	Vault      *vault.Vault // nil: in memory, for this gateway alone
	Quarantine Quarantine   // nil: nobody answers
	Plans      Plans

	Interpreter Interpreter          // of programs of agents; nil: none are run
	Sanitizers  *sanitize.Sanitizers // of the operator; nil: there are none
}

// Plans is where agents may submit plans and programs, how far plans bind them, and where they may be isolated.
type Plans struct {
	Offered  bool     // also where no result is hidden
	Programs bool     // agents may also have programs run
	Isolates []string // names of the hosts that may isolate agent sessions
	guard.PlanRules
}

// A Quarantine answers questions about hidden values.
type Quarantine = exchange.Quarantine

// An Interpreter runs programs of agents.
type Interpreter = exchange.Interpreter

// Hosts is who is at the hosts, and which of their answers to approval requests count.
type Hosts struct {
	Local       agentsession.Local // whose conversation a host on stdio has, if it does not say
	HostAnswers HostAnswers
}

// Web is how hosts are served over HTTP.
type Web struct {
	AllowedHosts, AllowedOrigins []string // names in the Host header and web origins that may connect; see streamable.Options

	// Share says that no server keeps anything of a session, so that HTTP sessions of one principal may share
	// connections to servers.
	Share bool

	// Apart says that each HTTP session of the older revisions is a conversation of its own. Where it is not set, all
	// requests of a principal that name no agent session belong to one: a host that goes on with a conversation has
	// another HTTP session for it.
	Apart bool
}

// HostAnswers says which answers of hosts to approval requests count. The zero HostAnswers counts all.
type HostAnswers = exchange.HostAnswers

// Asked is told of a new question, and where its answer goes. It must not wait: a call does.
type Asked func(*approve.Book, *approve.Pending)

// A Gateway serves hosts. Make one with [New], change it with Reload and end it with Close.
type Gateway struct {
	engine  *exchange.Engine
	opts    Options
	guard   *guard.Guard
	book    *approve.Book
	log     *slog.Logger
	http    *streamable.Handler
	servers *backend.Registry

	traces       *budget.Lease // of the memory of the guard
	stopIndexing func()

	current atomic.Pointer[string] // key of the agent session of the last request on stdio

	reloading sync.Mutex // held while a change is taken over
	closed    bool       // under reloading
}

// StartAhead starts the processes of the servers for one host on stdio, before there is a gateway, which has them by
// these options. Close has those exit that nobody has come to need.
func StartAhead(opts *Options) io.Closer {
	if opts.Budget == nil {
		opts.Budget = budget.New(budget.Limits{})
	}
	return backend.StartAhead(opts.Servers, &backend.Options{Log: opts.Logger, Budget: opts.Budget, BaseEnv: opts.BaseEnv, Stderr: opts.Stderr})
}

// New returns a gateway. It connects to no server before a host does.
func New(opts Options) (*Gateway, error) {
	if err := checkServers(opts.Servers); err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Taints == nil {
		opts.Taints = session.NewTaints(session.TaintOptions{})
	}
	if opts.State == nil {
		return nil, errors.New("a gateway needs a state of sessions and events")
	}
	if opts.Budget == nil {
		opts.Budget = budget.New(budget.Limits{})
	}
	if opts.Vault == nil {
		opts.Vault = vault.New(vault.Limits{})
	}
	if opts.Approvals == nil {
		opts.Approvals = store.NewMemory(nil)
	}
	conduct := &conduct{approve.NewConduct(opts.Approvals, opts.State), opts.Logger}
	traces, _ := opts.Budget.Traces.Acquire(0)
	book := approve.NewBook(approve.Options{
		Timeout: opts.Approval, Record: opts.State, Store: opts.Approvals, Sessions: opts.State.Sessions(), Asked: opts.Asked,
	})
	gw := &Gateway{opts: opts, traces: traces, book: book, log: opts.Logger}
	g, err := guard.New(guard.Options{
		Policy: opts.Policy, Mode: opts.Mode, State: opts.State, Approvals: book, Words: opts.Words,
		Domains: opts.Own.Domains, Me: opts.Own.Me, Readers: opts.Own.Readers, Taints: opts.Taints, Contents: opts.Contents,
		Files: opts.Files, Review: opts.reviewing(), Memory: opts.remembering(traces), Vault: opts.Vault, Setup: opts.Sanitizers.Stated(),
		Breach: conduct.ofCalls(func() []Server { return gw.servers.Configured() }),
	})
	if err != nil {
		return nil, err
	}
	gw.guard = g
	gw.servers = backend.New(opts.Servers, &backend.Options{
		Record: opts.State, Log: opts.Logger, Words: opts.Words, Budget: opts.Budget, BaseEnv: opts.BaseEnv, Stderr: opts.Stderr,
		Version: opts.Version, Pins: opts.Pins, Review: opts.reviewing(), Told: g.Told, Hear: g.Hear, Clean: g.Clean,
		Conduct: conduct.ofServers(), Neighbors: opts.Neighbors, Keep: opts.Keep,
		Yield:  func() bool { return gw.http.Yield() },
		Hushed: func() bool { return gw.engine.Hiding() },
		Listing: func(e guard.Exposure) *guard.Listing {
			p, mode := g.Rules()
			return &guard.Listing{Exposure: e, Policy: p, Mode: mode}
		},
	})
	gw.engine, err = exchange.New(exchange.Options{
		Servers: gw.servers, Guard: g, Book: book, State: opts.State, Words: opts.Words, Log: opts.Logger,
		HostAnswers: opts.HostAnswers, Quarantine: opts.Quarantine, Interpreter: opts.Interpreter,
		Sanitizers: opts.Sanitizers,
	})
	if err != nil {
		return nil, err
	}
	g.Plans.Set(opts.Plans.PlanRules)
	gw.engine.Offer(offers(g, opts.Servers, &opts.Plans))
	gw.await(opts.Approval, opts.Startup)
	gw.stopIndexing = start(func(ctx context.Context) { guard.Index(ctx, g) })
	gw.http = streamable.New(streamable.Options{Serve: gw.serveHTTP, MaxBody: opts.Budget.Message, Budget: opts.Budget, Logger: opts.Logger,
		AllowedHosts: opts.AllowedHosts, AllowedOrigins: opts.AllowedOrigins})
	return gw, nil
}

// start runs work in a goroutine, and returns a function that ends it and waits.
func start(work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { work(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// offers returns which tools of Weir's own agents get. Results may be hidden by a rule, and by the operator's word on a
// server.
func offers(g *guard.Guard, servers []Server, p *Plans) exchange.Offers {
	by, _ := g.Rules()
	return exchange.Offers{
		Hiding:   by.Hides() || slices.ContainsFunc(servers, func(s Server) bool { return len(s.Hide) > 0 }),
		Planning: p.Offered, Programs: p.Programs, Isolates: p.Isolates,
	}
}

// await has the gateway wait so long for people and servers from now on, or for the defaults where it is zero. Waits
// that have begun go on.
func (g *Gateway) await(approval, startup time.Duration) {
	if approval <= 0 {
		approval = approve.DefaultTimeout
	}
	g.engine.SetApproval(approval)
	g.servers.SetStartup(startup)
}

// ServeStdio serves the host at the other end of conn until it leaves or ctx ends, and then lets the answers in flight
// go out. It returns nil when the host left.
func (g *Gateway) ServeStdio(ctx context.Context, conn rpc.Conn) error {
	return g.serve(ctx, conn, agentsession.Host{Principal: agentsession.LocalPrincipal, Local: &g.opts.Local}, false)
}

// Handler returns the gateway's streamable HTTP endpoint, for both eras of the protocol.
func (g *Gateway) Handler() *streamable.Handler { return g.http }

func (g *Gateway) serveHTTP(ctx context.Context, info streamable.Info, conn rpc.Conn) error {
	principal := info.Principal
	if principal == "" {
		principal = agentsession.LocalPrincipal
	}
	return g.serve(ctx, conn, agentsession.Host{
		Principal: principal, AgentOnly: info.AgentOnly, McpSession: info.SessionID, Apart: g.opts.Apart, Header: info.Header,
	}, info.Modern)
}

func (g *Gateway) serve(ctx context.Context, conn rpc.Conn, h agentsession.Host, shared bool) error {
	return hostconn.Serve(ctx, conn, g.engine, hostconn.Options{Agents: agentsession.New(h, &g.current, g.log), Shared: shared, Share: g.opts.Share})
}

// Close ends every connection and waits for the servers' processes.
func (g *Gateway) Close() error {
	g.stopReloading()
	g.http.Close()
	g.engine.Close()
	err := g.servers.Close()
	g.stopIndexing()
	g.traces.Release()
	return err
}

// Tools returns the tools that hosts were shown last, with their contracts. See [backend.Registry.Tools].
func (g *Gateway) Tools() []catalog.Entry { return g.servers.Tools() }

// Held returns the definitions that no one has accepted, as their servers gave them last, by server, kind and name.
func (g *Gateway) Held() []pins.Held { return g.servers.Held() }

// reviewing returns the command by which a person reviews definitions; nil if nothing is pinned.
func (o *Options) reviewing() func(server string) string {
	switch {
	case o.Pins == nil:
		return nil
	case o.Review != nil:
		return o.Review
	}
	return func(server string) string { return "weir review " + server }
}
