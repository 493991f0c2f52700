package streamable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
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

// Info says where a connection comes from.
type Info struct {
	Modern    bool        // revision 2026-07-28 or later: the connection is one request
	SessionID string      // Mcp-Session-Id, a secret between client and gateway; "" if Modern
	Header    http.Header // of the request that opened the connection; not to be changed
	Remote    string      // address and port of the peer
	Principal string      // the principal that [WithPrincipal] put into the request's context
}

// A Handler serves one MCP endpoint. It is safe for concurrent use.
//
// On a connection to a loopback address, Host must be "localhost", a loopback address, or one of
// Options.AllowedHosts. On any other, Host must be one of these if Options.AllowedHosts is not empty, and is
// not looked at if it is. Behind a name that browsers can reach, set it: the Origin of a page whose name was
// rebound to this server looks like the server's.
type Handler struct {
	opts Options

	running      sync.WaitGroup  // connections and requests being served
	closing      context.Context // done when Close has begun
	beginClosing func()          // makes it so

	waking sync.Mutex // held while a session is looked for, before mu

	mu       sync.Mutex
	closed   bool
	draining bool // requests are refused, and all else is taken
	sessions map[string]*session
	dormant  dormant
	posts    map[*exchange]struct{}
}

// New returns a handler that gives connections to opts.Serve.
func New(opts Options) *Handler {
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
	h := &Handler{opts: opts, sessions: map[string]*session{}, posts: map[*exchange]struct{}{}}
	h.closing, h.beginClosing = context.WithCancel(context.Background())
	return h
}

// NewServer returns a server for h with the limits on time and size that suit long-lived streams: a slow header
// costs a client its connection, a slow answer does not. If h is a [Handler], Shutdown closes it. Serve it on [Handler.Listener].
func NewServer(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       withClient,
	}
	if c, ok := h.(*Handler); ok {
		srv.RegisterOnShutdown(c.Close)
	}
	return srv
}

type principalKey struct{}

// WithPrincipal returns a context that says on whose behalf a request is made, for authentication in front of a
// [Handler]. A session belongs to the principal that opened it.
func WithPrincipal(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, principalKey{}, principal)
}

func principal(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// Close ends every connection and waits until all calls of Serve and all requests are over. New requests are
// refused.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	sessions, posts := h.sessions, h.posts
	h.sessions, h.posts = map[string]*session{}, map[*exchange]struct{}{}
	h.dormant = dormant{}
	h.mu.Unlock()
	h.beginClosing()
	for _, s := range sessions {
		s.end()
	}
	for x := range posts {
		x.end(http.StatusServiceUnavailable, "server is shutting down")
	}
	h.running.Wait()
}

// ServeHTTP answers one HTTP request; see the package comment.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	limitBody(w, r)
	c := clientOf(r)
	c.isOwed()
	defer c.owes(nil)
	if len(r.TransferEncoding) > 0 {
		// The request may have had a Content-Length too, which net/http takes away unseen. Whoever in between believed that must not have
		// its rest taken for another request (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	if f := h.guard(w, r); f != nil {
		h.refuse(w, r, f)
		return
	}
	var f *refusal
	switch r.Method {
	case http.MethodPost:
		f = h.post(w, r)
	case http.MethodGet:
		f = h.stream(w, r)
	case http.MethodDelete:
		f = h.delete(w, r)
	default:
		f = methodNotAllowed("POST, GET, DELETE")
	}
	if f != nil {
		h.refuse(w, r, f)
	}
}

// post takes in one message.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) *refusal {
	if f := acceptable(r); f != nil {
		return f
	}
	body, lease, f := h.body(w, r)
	defer lease.Release()
	if f != nil {
		return f
	}
	m, err := rpc.Parse(body)
	if err != nil {
		return malformed(err)
	}
	modern, f := h.check(r.Header, m)
	if f != nil {
		return f
	}
	if f := h.enter(m.IsRequest()); f != nil {
		return f
	}
	defer h.running.Done()
	switch {
	case modern:
		return h.exchange(w, r, m)
	case r.Header.Get(sessionHeader) == "":
		return h.open(w, r, m)
	}
	s, f := h.session(r)
	if f != nil {
		return f
	}
	defer s.pause()
	return h.deliver(w, r, s, m)
}

// enter admits an HTTP request, which brings a new request of the client or something else, and for which h.running.Done must
// then be called.
func (h *Handler) enter(asks bool) *refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || asks && h.draining {
		return unavailable("server is shutting down")
	}
	h.running.Add(1)
	return nil
}

// serve runs Serve to its end. The net/http server would survive a panic in a request; so does this.
func (h *Handler) serve(ctx context.Context, info Info, conn rpc.Conn) {
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return h.opts.Serve(ctx, info, conn)
	}()
	if err != nil && ctx.Err() == nil {
		h.opts.Logger.Error("serving an MCP connection", "remote", info.Remote, "err", err)
	}
}

// info describes the connection that r opens.
func info(r *http.Request) Info {
	return Info{Header: r.Header, Remote: r.RemoteAddr, Principal: principal(r.Context())}
}
