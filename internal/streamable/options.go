package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rpc"
)

var (
	// ErrClosed is the error of Write on a connection that is over.
	ErrClosed = errors.New("connection is closed")
	// ErrUndelivered is the error of Write for a request that cannot reach the client. The connection goes on.
	ErrUndelivered = errors.New("client cannot be asked")
)

// Options configure a [Handler]. The zero value of every field but Serve is a default.
type Options struct {
	// Serve runs one connection, in a goroutine of its own: once for each session of the older revisions, once
	// for each POST from 2026-07-28 on. It should return when Read reports io.EOF or ctx is done; ctx carries
	// the values of the request that opened the connection. An error is logged; clients see only that there was
	// one.
	Serve func(ctx context.Context, info Info, conn rpc.Conn) error

	MaxBody        int64          // of a request, in bytes; default 64 MiB
	Budget         *budget.Budget // the bounds of all clients together; default one of the handler's own
	IdleTimeout    time.Duration  // of a session with no request or stream open; default 10 min
	KeepAlive      time.Duration  // of silence before a comment on a stream; default 30 s
	Versions       []string       // protocol revisions that are accepted; default all from 2024-11-05 to 2026-07-28
	AllowedHosts   []string       // host names, without port, for which requests are accepted; see [Handler]
	AllowedOrigins []string       // origins of web pages that may send requests, such as "https://app.example"
	Logger         *slog.Logger   // default none
}

// withDefaults returns the options with their defaults in the place of zeros.
func (opts Options) withDefaults() Options {
	if opts.MaxBody <= 0 {
		opts.MaxBody = 64 << 20
	}
	if opts.Budget == nil {
		opts.Budget = budget.New(budget.Limits{})
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = 10 * time.Minute
	}
	if opts.KeepAlive <= 0 {
		opts.KeepAlive = 30 * time.Second
	}
	if len(opts.Versions) == 0 {
		opts.Versions = append([]string{firstModern}, legacy...)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Versions = slices.Clone(opts.Versions)
	opts.AllowedHosts = fold(opts.AllowedHosts)
	opts.AllowedOrigins = fold(opts.AllowedOrigins)
	return opts
}

// Info says where a connection comes from.
type Info struct {
	Modern    bool        // revision 2026-07-28 or later: the connection is one request
	SessionID string      // Mcp-Session-Id, a secret between client and gateway; "" if Modern
	Header    http.Header // of the request that opened the connection; not to be changed
	Remote    string      // address and port of the peer
	Principal string      // the principal that [WithPrincipal] put into the request's context
	AgentOnly bool        // it may not answer approval requests
}

type principalKey struct{}

type authenticated struct {
	principal string
	agentOnly bool
}

// WithPrincipal returns a context that says on whose behalf a request is made, for authentication in front of a
// [Handler], and whether that principal may only use servers, and not answer approval requests. A session belongs to
// the principal that opened it.
func WithPrincipal(ctx context.Context, principal string, agentOnly bool) context.Context {
	return context.WithValue(ctx, principalKey{}, authenticated{principal, agentOnly})
}

func authenticatedBy(ctx context.Context) authenticated {
	a, _ := ctx.Value(principalKey{}).(authenticated)
	return a
}

// bearer returns whose session a request can use: those of a principal that may only use servers are sessions of their
// own, so that credentials with fewer rights do not answer in a session of others.
func bearer(ctx context.Context) string {
	a := authenticatedBy(ctx)
	if a.agentOnly {
		return a.principal + "\x00agent only"
	}
	return a.principal
}

// InfoOf describes the connection that a request opens.
func InfoOf(r *http.Request) Info {
	a := authenticatedBy(r.Context())
	return Info{Header: r.Header, Remote: r.RemoteAddr, Principal: a.principal, AgentOnly: a.agentOnly}
}
