package streamable

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A Handler serves one MCP endpoint. It is safe for concurrent use.
//
// On a connection to a loopback address, Host must be "localhost", a loopback address, or one of
// Options.AllowedHosts. On any other, Host must be one of these if Options.AllowedHosts is not empty, and is
// not looked at if it is. Behind a name that browsers can reach, set it: the Origin of a page whose name was
// rebound to this server looks like the server's.
type Handler struct {
	*gate
	*register

	closing      context.Context // done when Close has begun
	beginClosing context.CancelFunc
}

// New returns a handler that gives connections to opts.Serve.
func New(opts Options) *Handler {
	opts = opts.withDefaults()
	h := &Handler{gate: &gate{opts}, register: newRegister(opts.Budget)}
	h.closing, h.beginClosing = context.WithCancel(context.Background())
	return h
}

// NewServer returns a server for h with the limits on time and size that suit long-lived streams: a slow header costs a
// client its connection, a slow answer does not. If h is a [Handler], Shutdown closes it. Serve it on
// [Handler.Listener].
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

// Close ends every connection and waits until all calls of Serve and all requests are over. New requests are
// refused.
func (h *Handler) Close() {
	sessions, posts := h.shut()
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
		// The request may have had a Content-Length too, which net/http takes away unseen. Whoever in between believed
		// that must not have its rest taken for another request (RFC 9112, 6.1).
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
	body, lease, f := readBody(w, r, h.opts.MaxBody, h.opts.Budget.Bytes)
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

// answer begins the response to r.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) *answer {
	return &answer{
		w: w, rc: http.NewResponseController(w), keepAlive: h.opts.KeepAlive, closing: h.closing, eager: prefersStream(r.Header),
	}
}

// Listener returns l with connections that count in the budget. At the limit, the connection that has sent no whole
// request for the longest time gives way; if there is none, a new one is turned away with 503.
func (h *Handler) Listener(l net.Listener) net.Listener {
	return &clients{Listener: l, pool: h.opts.Budget.Connections, all: map[*client]bool{}}
}

// Yield puts the session to sleep that has been quiet for the longest time, and reports whether there was one. What it
// takes at servers is given back soon.
func (h *Handler) Yield() bool {
	if !h.yieldOne("") {
		return false
	}
	h.opts.Budget.Sessions.Evicted()
	return true
}
