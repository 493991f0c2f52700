package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/weir-mcp/weir/internal/rpc"
)

// An exchange is the connection of one POST from 2026-07-28 on.
type exchange struct {
	msg    *rpc.Message
	in     chan *rpc.Message // msg; closed behind a notification
	box    *outbox
	cancel context.CancelFunc // of the context of Serve

	closing sync.Once
	done    chan struct{} // closed when nothing more is to be read
}

// exchange serves one message of the era without sessions.
func (h *Handler) exchange(w http.ResponseWriter, r *http.Request, m *rpc.Message) *refusal {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	x := &exchange{
		msg: m, in: make(chan *rpc.Message, 1), box: newOutbox(h.opts.MaxBody, h.opts.Budget.Bytes), cancel: cancel, done: make(chan struct{}),
	}
	defer x.box.release()
	x.in <- m
	if m.IsNotification() {
		close(x.in)
	}
	if f := h.add(x); f != nil {
		cancel()
		return f
	}
	served := make(chan struct{})
	conn := InfoOf(r)
	conn.Modern = true
	go func() {
		defer close(served)
		defer h.remove(x)
		h.serve(ctx, conn, x)
		x.end(http.StatusInternalServerError, "no answer")
	}()
	if m.IsNotification() {
		select {
		case <-served:
		case <-r.Context().Done():
			x.end(0, "")
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if _, err := h.answer(w, r).run(r.Context(), x.box); err != nil {
		cancel()
	}
	x.Close()
	return nil
}

// end stops the exchange. If the client still waits for a response, it is an error with that HTTP status and
// text.
func (x *exchange) end(status int, text string) {
	if x.msg.IsRequest() {
		x.box.put(failure(x.msg.ID, status, text))
	}
	x.Close()
	x.cancel()
}

// Read implements [rpc.Conn].
func (x *exchange) Read(ctx context.Context) (*rpc.Message, error) {
	select {
	case <-x.done:
		return nil, io.EOF
	default:
	}
	select {
	case m, ok := <-x.in:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-x.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [rpc.Conn].
func (x *exchange) Write(_ context.Context, m *rpc.Message) error {
	p := encode(m)
	switch {
	case p.kind == request:
		return fmt.Errorf("%w: no requests to clients in this revision", ErrUndelivered)
	case p.kind == response && string(m.ID) != string(x.msg.ID):
		return fmt.Errorf("response to %s on the connection of request %s", m.ID, x.msg.ID)
	}
	p.status = statusOf(m)
	select {
	case <-x.done:
		return ErrClosed
	default:
	}
	if !x.box.put(p) && p.kind == response {
		return ErrClosed
	}
	return nil
}

// Close implements [rpc.Conn].
func (x *exchange) Close() error {
	x.closing.Do(func() { close(x.done) })
	return nil
}
