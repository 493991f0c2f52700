package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/rpc"
)

// cancelWait is how long telling the server that a call was given up may take.
const cancelWait = 2 * time.Second

// A Conn is a connection to one server. All methods may be called concurrently.
type Conn struct {
	opts      Options
	transport transport
	era       era             // not changed after Dial
	welcome   json.RawMessage // likewise

	life   context.Context // ends with the connection
	cancel context.CancelFunc
	done   chan struct{} // closed when the connection is closed or lost
	tasks  sync.WaitGroup
	calls  calls
	served served
	said   atomic.Int64

	mu  sync.Mutex
	err error // why done is closed
}

// newConn returns a connection over the transport that connect makes for it, without a handshake.
func newConn(opts Options, connect func(to receiver) (transport, error)) (*Conn, error) {
	c := &Conn{
		opts:  opts,
		done:  make(chan struct{}),
		calls: calls{waiting: map[int64]*call{}, untold: map[int64]bool{}, given: bounded.NewMap[int64, struct{}](rememberCalls)},
	}
	t, err := connect(c)
	if err != nil {
		return nil, err
	}
	c.transport, c.served = t, served{conn: c, running: map[string]context.CancelFunc{}}
	c.life, c.cancel = context.WithCancel(context.Background())
	c.tasks.Go(c.read)
	return c, nil
}

// Protocol returns the revision that was agreed on.
func (c *Conn) Protocol() string { return c.era.protocol }

// Modern reports whether the revision is 2026-07-28 or later: no handshake, no session, and every request says who
// makes it.
func (c *Conn) Modern() bool { return c.era.modern() }

// Welcome returns the server's result of initialize or server/discover, as it came.
func (c *Conn) Welcome() json.RawMessage { return c.welcome }

// Said returns how many requests, but for pings, and notifications the server has sent.
func (c *Conn) Said() int64 { return c.said.Load() }

// Done is closed when the connection is closed or lost.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection lives, and then an error that wraps ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Call sends a request and returns the answer, whose Result or Error is the server's own bytes: an error that the
// server answers is no error of Call. Params are an object that passed [rawjson.Check], or nil; the members of their
// _meta that depend on the revision are added or removed: protocolVersion is always the connection's own, clientInfo
// and clientCapabilities stay if they are there.
//
// When ctx ends, Call returns its error at once and the server is told so: with notifications/cancelled, or over HTTP
// from 2026-07-28 on by hanging up. If the answer is not a message, Call returns an [*rpc.Error] in its error; if the
// connection is lost, one that wraps [ErrClosed].
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage) (*rpc.Message, error) {
	params, err := c.era.dress(params)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	return c.call(ctx, method, params, true)
}

// call sends params as they are. The handshake may not be cancelled (revision 2025-11-25, Cancellation).
func (c *Conn) call(ctx context.Context, method string, params json.RawMessage, cancellable bool) (*rpc.Message, error) {
	pending := &call{method: method, came: make(chan answer, 1)}
	if err := c.Err(); err != nil {
		return nil, err
	}
	id := c.calls.register(pending)
	err := c.transport.Write(ctx, rpc.NewRequest(formatID(id), method, params))
	if err == nil {
		select {
		case a := <-pending.came:
			return a.message, a.err
		case <-ctx.Done():
		case <-c.done:
		}
	}
	if !c.calls.giveUp(id) {
		// The answer came at the same time.
		a := <-pending.came
		return a.message, a.err
	}
	if ctx.Err() != nil && cancellable {
		c.tellCancelled(id, ctx.Err())
	}
	return nil, c.unanswered(ctx, method, err)
}

// unanswered returns why a call has no answer; err is that of writing it.
func (c *Conn) unanswered(ctx context.Context, method string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, ErrClosed):
		return c.lost(err)
	case errors.Is(err, ErrLogin):
		c.end(fmt.Errorf("%w: %w", ErrClosed, err)) // nothing can be said over it before the user has logged in
	}
	return fmt.Errorf("calling %s: %w", method, err)
}

// lost ends the connection, whose transport can write no more, and returns why it ended. The reading side knows the
// reason best, so it is given a moment to notice.
func (c *Conn) lost(err error) error {
	select {
	case <-c.done:
	case <-time.After(drainWait):
		c.end(err)
	}
	return c.Err()
}

// tellCancelled tells the server that nobody waits for the answer any more. It does not wait.
func (c *Conn) tellCancelled(id int64, reason error) {
	if c.hangsUp() {
		return
	}
	c.calls.leaveUntold(id)
	c.task(func() {
		ctx, cancel := context.WithTimeout(c.life, cancelWait)
		defer cancel()
		_ = c.Notify(ctx, "notifications/cancelled", cancelled(id, reason))
		c.calls.told(id)
	})
}

func cancelled(id int64, reason error) json.RawMessage {
	return fmt.Appendf(nil, `{"requestId":%d,"reason":%q}`, id, reason.Error())
}

// hangsUp reports whether the end of a request's HTTP exchange is all that its server is told when it is given up
// (revision 2026-07-28, Cancellation).
func (c *Conn) hangsUp() bool {
	_, ok := c.transport.(*streamable)
	return ok && c.era.modern()
}

// takeLeave tells the server that nobody waits for the calls that are open: some servers end a session only after the
// last of its calls. It takes cancelWait at most. Messages on their way already may go out twice.
func (c *Conn) takeLeave() {
	if c.hangsUp() {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, cancelWait)
	defer cancel()
	for _, id := range c.calls.open() {
		if c.Notify(ctx, "notifications/cancelled", cancelled(id, ErrClosed)) != nil {
			return
		}
	}
}

// task runs f in a goroutine that Close waits for, unless the connection has ended.
func (c *Conn) task(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.tasks.Go(f)
	return true
}

// Notify sends a notification, with params as in Call.
func (c *Conn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	params, err := c.era.dress(params)
	if err == nil {
		err = c.notify(ctx, method, params)
	}
	if err != nil {
		return fmt.Errorf("sending %s: %w", method, err)
	}
	return nil
}

// notify sends params as they are.
func (c *Conn) notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := c.Err(); err != nil {
		return err
	}
	err := c.transport.Write(ctx, rpc.NewNotification(method, params))
	if errors.Is(err, ErrClosed) {
		return c.lost(err)
	}
	return err
}

// Close ends the connection, waits until all that belongs to it has ended, and returns an error if something would not.
// Calls that wait for an answer get ErrClosed, and the server is told that they are cancelled. A child process is asked
// to exit by the end of its input, then by SIGTERM, then killed, with Options.Grace between; so Close may take a little
// more than three times that. Close waits for the methods of the Handler.
func (c *Conn) Close() error {
	c.takeLeave()
	c.end(ErrClosed)
	err := c.transport.Close()
	c.tasks.Wait()
	return err
}

// end marks the connection as ended, for the first reason given, and has the transport closed.
func (c *Conn) end(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = reason
		c.cancel()
		close(c.done)
		c.tasks.Go(func() { _ = c.transport.Close() })
	}
}

// PID returns the id of the server's process, and 0 if it is reached by a URL.
func (c *Conn) PID() int {
	if p, ok := c.transport.(*process); ok {
		return p.child.PID()
	}
	return 0
}
