// Package upstream is the life of one connection to an MCP server: starting or reaching it, agreeing on a protocol
// revision, calling it, and leaving nothing behind.
//
//	conn, err := upstream.Dial(ctx, upstream.Spec{Command: []string{"mcp-server-git"}}, hello, opts)
//	answer, err := conn.Call(ctx, "tools/list", nil)
//	err = conn.Close()
//
// A server is a child process that speaks over its standard input and output, or an HTTP endpoint (streamable HTTP, or
// the HTTP+SSE transport of 2024-11-05). All revisions from 2024-11-05 to 2026-07-28 are spoken; [Conn.Call] looks the
// same in all of them. Messages stay raw JSON: members that nobody here knows reach the other side with their bytes
// unchanged.
//
// Servers are not trusted. Their messages are checked before they are passed on, and breaches of the protocol go to
// [Handler.Defect]. An answer is matched to a call by an id of the connection's own, once. A call ends with the
// server's answer, with its context, or with [ErrClosed]; never with a guess. Over HTTP no request leaves the origin of
// the endpoint's URL, whatever redirects or events say. A child process runs in a process group of its own, and Close
// leaves no member of it alive.
//
// The package has no state of its own and reads no environment, save that a program named without a slash is looked up
// in the caller's PATH. Everything that it starts ends in [Conn.Close].
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// ErrClosed says that the connection is closed or lost. Errors that wrap it say why.
var ErrClosed = errors.New("connection to server closed")

// A Spec says how to reach a server: by Command or by URL.
type Spec struct {
	Name    string                // for messages
	Command []string              // the program and its arguments
	Env     []string              // "K=V", added to Options.BaseEnv; the last of a name counts
	Dir     string                // the program's working directory; "" is the caller's
	Start   func() (Child, error) // starts the program elsewhere; nil: as a child of this process
	URL     string                // an http or https endpoint
	SSE     bool                  // URL speaks the HTTP+SSE transport of revision 2024-11-05
	Headers map[string]string     // sent with every HTTP request
	Auth    Authorizer            // gets the tokens that URL asks for; nil: a server that asks for some answers 401
	Ahead   *Ahead                // a process of this program, for the first that dials; nil: none runs yet
}

// A Hello is the client's description for the server.
type Hello struct {
	Protocol     string          // the revision that the host speaks; "" is the newest
	ClientInfo   json.RawMessage // an object, sent as it is; nil is {"name":"weir","version":""}
	Capabilities json.RawMessage // likewise; nil is {}
}

// A Handler receives the messages that a server sends by itself. Notification and Defect are called in the order of
// arrival, from the goroutine that reads, so slow work there delays the answers to calls. Over HTTP each stream, and so
// each call, has an order and a goroutine of its own. All methods may be called before Dial returns, and concurrently.
// None may call [Conn.Close], which waits for them.
type Handler interface {
	// Notification receives a notification, except those about cancelled requests.
	Notification(m *rpc.Message)

	// Request answers a request of the server; its id is the server's. It runs in a goroutine of its own; ctx ends when
	// the server cancels the request or the connection ends. A nil answer becomes an internal error. Requests to ping
	// are answered without it.
	Request(ctx context.Context, m *rpc.Message) *rpc.Message

	// Defect receives breaches of the protocol: one of a few reasons, and a detail that may quote the server.
	Defect(reason, detail string)
}

// The reasons of [Handler.Defect].
const (
	Malformed     = "malformed message"            // not a message, or one that two parsers may read differently
	UnknownAnswer = "answer to an unknown request" // no request with that id was ever made
	SecondAnswer  = "second answer to a request"   // or an answer long after its request was given up
	TooManyAtOnce = "too many requests at once"    // the server asks more than it may before the first is answered
	RepeatedID    = "request with an id in use"    // the server's earlier request with that id is not yet answered
	HalfPair      = "half of a surrogate pair"     // replaced by U+FFFD; the message counts
	BadHandshake  = "handshake without a result"   // its answer is not an object
)

// Options adjust a connection. The zero Options are ready to use.
type Options struct {
	Handler    Handler       // nil refuses requests and ignores the rest
	Stderr     io.Writer     // receives a child's standard error, from a goroutine; nil discards it
	MaxMessage int           // longest message that is read, in bytes; 0 is rpc.DefaultMaxMessage
	BaseEnv    []string      // a child's environment, before Spec.Env; nil is empty
	Logger     *slog.Logger  // for odd but harmless events; nil is none
	Probe      time.Duration // how long a child may leave server/discover unanswered until it counts as legacy; 0 is 3 s
	Grace      time.Duration // how long a child may take to exit before the next stronger signal; 0 is 2 s
}

// withDefaults returns options with no zero left that has a meaning.
func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Handler == nil {
		r.Handler = refuser{}
	}
	if r.MaxMessage <= 0 {
		r.MaxMessage = rpc.DefaultMaxMessage
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	if r.Probe <= 0 {
		r.Probe = 3 * time.Second
	}
	if r.Grace <= 0 {
		r.Grace = 2 * time.Second
	}
	return r
}

// A refuser is the Handler where none is given.
type refuser struct{}

func (refuser) Notification(*rpc.Message) {}
func (refuser) Defect(string, string)     {}
func (refuser) Request(_ context.Context, m *rpc.Message) *rpc.Message {
	return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "method %q is not supported", m.Method))
}
