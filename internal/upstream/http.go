package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/rpc"
)

// lingerWait is how long the HTTP response that carried an answer may take to end. Ending it by force costs the TCP
// connection; not ending it would let a server hold it for ever.
const lingerWait = time.Second

// An httpConn carries messages over one of the SDK's HTTP transports. The SDK opens and reads the responses to POST
// requests and keeps the session; we check what it read, bind each request to its caller's context, and read the
// standing stream, which the SDK opens for its own client only.
type httpConn struct {
	sdk    mcp.Connection
	origin *origin
	opts   Options
	sse    bool

	life   context.Context // of everything but the SDK's DELETE request
	cancel context.CancelFunc
	in     chan received
	tasks  sync.WaitGroup

	mu   sync.Mutex
	open map[string]exchange // requests without an answer, by their id

	closing sync.Once
	err     error // of closing
}

// A received is what Read returns.
type received struct {
	message *rpc.Message
	err     error
}

// An exchange is one request over HTTP.
type exchange struct {
	cancel context.CancelFunc // ends the POST request and the reading of its response
	detach func() bool        // unbinds that from the caller's context
}

// connectHTTP makes the connection; only the HTTP+SSE transport makes a request for that.
func connectHTTP(ctx context.Context, spec Spec, endpoint *url.URL, opts Options) (*httpConn, error) {
	h := &httpConn{
		origin: newOrigin(spec, endpoint, opts),
		opts:   opts,
		sse:    spec.SSE,
		in:     make(chan received),
		open:   make(map[string]exchange),
	}
	h.life, h.cancel = context.WithCancel(context.Background())
	var sdk mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: spec.URL, HTTPClient: h.origin.client(opts.Client), MaxEventSize: opts.MaxMessage,
		DisableStandaloneSSE: true, // it would never be opened anyway
	}
	if spec.SSE {
		sdk = &mcp.SSEClientTransport{
			Endpoint: spec.URL, HTTPClient: h.origin.client(opts.Client), MaxEventSize: opts.MaxMessage,
		}
	}
	// The stream of the HTTP+SSE transport lives as long as the context that it is opened with.
	detach := context.AfterFunc(ctx, h.cancel)
	conn, err := sdk.Connect(h.life)
	if !detach() && err == nil {
		_ = conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		h.cancel()
		h.origin.close()
		return nil, err
	}
	h.sdk = conn
	h.tasks.Go(h.pump)
	return h, nil
}

// settle has the revision sent with all requests from now on, and the standing stream of older revisions opened.
func (h *httpConn) settle(protocol string) {
	h.origin.protocol.Store(&protocol)
	if !h.sse && !isModern(protocol) {
		s := &standing{origin: h.origin, session: h.sdk.SessionID(), protocol: protocol, opts: h.opts, hand: h.hand}
		s.client = h.origin.client(h.opts.Client)
		h.tasks.Go(func() { s.run(h.life) })
	}
}

// pump takes messages from the SDK until it has no more.
func (h *httpConn) pump() {
	for {
		m, err := h.sdk.Read(h.life)
		var r received
		switch {
		case err == nil:
			r = h.convert(m)
		case h.sse && err != io.EOF && h.life.Err() == nil:
			// The SDK goes on after an event of the HTTP+SSE transport that is no message, and keeps its text to itself.
			r.err = rpc.NewBadMessage(rpc.Errorf(rpc.ParseError, "parse error: %v", err), nil)
		default:
			h.hand(received{err: err})
			return
		}
		h.hand(r)
	}
}

// convert checks a message of the SDK, and lets go of the exchange that it answers.
func (h *httpConn) convert(m jsonrpc.Message) received {
	message, err := fromSDK(m)
	if response, ok := m.(*jsonrpc.Response); ok {
		h.mu.Lock()
		id := string(idFromSDK(response.ID))
		if e, ok := h.open[id]; ok {
			e.detach()
			time.AfterFunc(lingerWait, e.cancel)
			delete(h.open, id)
		}
		h.mu.Unlock()
	}
	return received{message, err}
}

// hand gives something to Read, unless the connection ends first.
func (h *httpConn) hand(r received) {
	select {
	case h.in <- r:
	case <-h.life.Done():
	}
}

// Read returns the next message.
func (h *httpConn) Read(ctx context.Context) (*rpc.Message, error) {
	select {
	case r := <-h.in:
		return r.message, r.err
	case <-h.life.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write posts a message. For a request it returns when the response begins, and ctx stays bound to the exchange until
// the answer was read. An error concerns this message only.
func (h *httpConn) Write(ctx context.Context, m *rpc.Message) error {
	message, err := toSDK(m)
	if err != nil {
		return err
	}
	bound, cancel := context.WithCancel(WithHeader(h.life, headerOf(ctx)))
	id := string(m.ID)
	detach := context.AfterFunc(ctx, func() {
		cancel()
		h.forget(id, m)
	})
	if m.IsRequest() {
		h.mu.Lock()
		h.open[id] = exchange{cancel, detach}
		h.mu.Unlock()
	}
	err = h.sdk.Write(bound, message)
	if m.IsRequest() && err == nil {
		return nil
	}
	detach()
	cancel()
	h.forget(id, m)
	if err == nil {
		return nil
	}
	return h.writeError(ctx, message, err)
}

// forget drops the exchange of a request.
func (h *httpConn) forget(id string, m *rpc.Message) {
	if m.IsRequest() {
		h.mu.Lock()
		delete(h.open, id)
		h.mu.Unlock()
	}
}

// writeError makes the best of an error of the SDK's Write. A server may answer with an error and a status that says so
// too; the SDK then returns what should have been read.
func (h *httpConn) writeError(ctx context.Context, m jsonrpc.Message, err error) error {
	var answered *jsonrpc.Error
	request, isRequest := m.(*jsonrpc.Request)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case h.life.Err() != nil:
		return ErrClosed
	case errors.As(err, &answered) && !isRejection(answered) && isRequest && request.IsCall():
		message, err := responseFromSDK(&jsonrpc.Response{ID: request.ID, Error: answered})
		h.hand(received{message, err})
		return nil
	}
	if said := authFailure(err); said != nil {
		return said
	}
	return fmt.Errorf("posting message: %w", err)
}

// Close ends the session and all requests.
func (h *httpConn) Close() error {
	h.closing.Do(func() {
		h.err = h.sdk.Close()
		h.cancel()
		h.tasks.Wait()
		h.origin.close()
	})
	return h.err
}
