package backend

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// Options are common to all connections to servers. Those without a comment on nil are required.
type Options struct {
	Record  record.Recorder
	Log     *slog.Logger
	Words   annotation.Words
	Budget  *budget.Budget
	BaseEnv []string  // environment of stdio servers, "NAME=value"
	Stderr  io.Writer // for the standard error of stdio servers; nil: it is dropped
	Version string    // of Weir

	Listing func(guard.Exposure) *guard.Listing // says which tools of a server hosts are told of

	Pins   Pins                       // nil: definitions may change, and nobody reviews them
	Review func(server string) string // the command by which a person reviews definitions

	// Told raises the agent session of a call by the label of text that its agent may read.
	Told func(ctx context.Context, call *guard.Call, l label.Label, text json.RawMessage) error

	// Hear returns the label of a message of a server outside of calls, to agents with these tools.
	Hear func(server string, trust contract.Trust, tools *detect.Tools, text json.RawMessage) label.Label

	// Clean returns text of a server that is no answer to a call as hosts get it, or an error if they may not.
	Clean func(text json.RawMessage) (json.RawMessage, error)

	Conduct Conduct

	// Hushed reports whether text that servers send outside of results is kept from hosts; nil: never.
	Hushed func() bool

	Neighbors *Neighbors // with the sets of other gateways of the host; nil: there are none

	// Keep keeps the label of all that the host may have been shown outside of results, by the neighbors too, before it
	// is, for a process that takes the place of this one; nil: nobody keeps it.
	Keep func(label.Label) error

	// Yield has one HTTP session give up its connections to servers, and reports whether one did.
	Yield func() bool
}

// A Conduct is the consequence of breaches of contract for the servers that the operator knows or trusts. The zero
// Conduct has none.
type Conduct struct {
	// Trust returns how far each of some servers is trusted now: as far as the operator says, or less.
	Trust func(ctx context.Context, all ...*Server) ([]contract.Trust, error)

	// Breach counts a breach of contract of a server's tool.
	Breach func(ctx context.Context, s *Server, tool string, b guard.Breach) error

	// Reviewed forgives breaches by definitions that a server has changed and a person has accepted, by their digests.
	Reviewed func(ctx context.Context, s *Server, digests map[string]bool) error
}

// Defect records and logs that a server broke its contract, a schema or the protocol.
func (o *Options) Defect(ctx context.Context, server, method, name string, d annotation.Defect) error {
	e := record.New(record.Defect, time.Now())
	e.Server, e.Method, e.Name, e.Where, e.Message = server, method, name, d.Where, d.Reason
	o.Log.Warn("defect", "server", server, "name", name, "where", d.Where, "reason", d.Reason)
	return o.Record.Record(ctx, e)
}

// An environment is the surroundings of all connections of a registry.
type environment struct {
	*Options
	tasks
	reviews reviews
	lowered atomic.Int64  // how often servers were seen to be trusted otherwise than before
	starts  chan struct{} // holds a token for each server that is being started
	startup atomic.Int64  // how long hosts wait for servers that do not answer their handshake, a time.Duration

	mu    sync.Mutex
	stats map[string]*serverStats // by server
}

// newHeard returns the label of text for hosts that have been shown none, or that which the neighbors share.
func (e *environment) newHeard() *guard.Heard {
	if e.Neighbors != nil {
		return &e.Neighbors.heard
	}
	return &guard.Heard{}
}

// patience returns how long hosts wait for servers that do not answer their handshake.
func (e *environment) patience() time.Duration { return time.Duration(e.startup.Load()) }

// statsOf returns the figures of a server, which outlive its connections.
func (e *environment) statsOf(server string) *serverStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats[server]
	if s == nil {
		s = &serverStats{}
		e.stats[server] = s
	}
	return s
}

// ErrClosing says that the gateway is closing.
var ErrClosing = hosterror.New("the gateway is closing")

// The tasks of a gateway are goroutines that it waits for when it closes. The zero tasks are ready to use.
type tasks struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Run calls do in a goroutine that the gateway waits for when it closes.
func (t *tasks) Run(do func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosing
	}
	t.running.Go(do)
	return nil
}

// stop lets no further task begin.
func (t *tasks) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// A group is shared by the connections of one set.
type group struct {
	*environment
	*Audience
	Hello     upstream.Hello
	heard     *guard.Heard         // the label of the texts that hosts were sent outside of results and definitions
	tools     func() *detect.Tools // that agents may call
	processes sync.WaitGroup       // that have not ended
	forget    func(method string)  // drops the cached list of a method, or all of them for ""
	arrived   func()               // tells hosts of a server that was missing
}
