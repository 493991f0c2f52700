package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	cancelWait    = 2 * time.Second // for telling the server that a call was given up
	rememberCalls = 1024            // how many calls that were given up are remembered, to forgive their late answers
	mostRequests  = 64              // how many requests of the server are served, and refused, at once
)

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
	untold map[int64]bool // calls that were given up, while the server is being told

	mu      sync.Mutex
	err     error // why done is closed
	last    int64 // id of the last call
	calls   map[int64]*call
	given   givenUp
	serving map[string]context.CancelFunc // requests of the server, by the text of their id
	replies int                           // refusals that are being written
}

// A call waits for its answer.
type call struct {
	method string
	came   chan answer // takes one
}

type answer struct {
	message *rpc.Message
	err     error
}

// newConn returns a connection over the transport that connect makes for it, without a handshake.
func newConn(opts Options, connect func(to receiver) (transport, error)) (*Conn, error) {
	c := &Conn{
		opts:    opts,
		done:    make(chan struct{}),
		calls:   make(map[int64]*call),
		untold:  make(map[int64]bool),
		serving: make(map[string]context.CancelFunc),
	}
	t, err := connect(c)
	if err != nil {
		return nil, err
	}
	c.transport = t
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

// Done is closed when the connection is closed or lost.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection lives, and then an error that wraps ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Call sends a request and returns the answer, whose Result or Error is the server's own bytes: an error that the server
// answers is no error of Call. Params are an object that passed [rawjson.Check], or nil; the members of their _meta that
// depend on the revision are added or removed: protocolVersion is always the connection's own, clientInfo and
// clientCapabilities stay if they are there.
//
// When ctx ends, Call returns its error at once and the server is told so: with notifications/cancelled, or over HTTP from
// 2026-07-28 on by hanging up. If the answer
// is not a message, Call returns an [*rpc.Error] in its error; if the connection is lost, one that wraps [ErrClosed].
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
	id, err := c.register(pending)
	if err != nil {
		return nil, err
	}
	err = c.transport.Write(ctx, rpc.NewRequest(formatID(id), method, params))
	if err == nil {
		select {
		case a := <-pending.came:
			return a.message, a.err
		case <-ctx.Done():
		case <-c.done:
		}
	}
	if !c.giveUp(id) {
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
	c.mu.Lock()
	c.untold[id] = true
	c.mu.Unlock()
	c.task(func() {
		ctx, cancel := context.WithTimeout(c.life, cancelWait)
		defer cancel()
		_ = c.Notify(ctx, "notifications/cancelled", cancelled(id, reason))
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.untold, id)
	})
}

func cancelled(id int64, reason error) json.RawMessage {
	return fmt.Appendf(nil, `{"requestId":%d,"reason":%q}`, id, reason.Error())
}

// hangsUp reports whether the end of a request's HTTP exchange is all that its server is told when it is given up (revision
// 2026-07-28, Cancellation).
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
	for _, id := range c.open() {
		if c.Notify(ctx, "notifications/cancelled", cancelled(id, ErrClosed)) != nil {
			return
		}
	}
}

// open returns the calls that wait for an answer or of whose end the server was not told yet, but for the handshake, which
// may not be cancelled.
func (c *Conn) open() (ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids = slices.Collect(maps.Keys(c.untold))
	for id, pending := range c.calls {
		if pending.method != "initialize" && pending.method != "server/discover" {
			ids = append(ids, id)
		}
	}
	return ids
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
// Calls that wait for an answer get ErrClosed, and the server is told that they are cancelled. A child process is asked to exit by the end of its input, then by
// SIGTERM, then killed, with Options.Grace between; so Close may take a little more than three times that. Close waits
// for the methods of the Handler.
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

// register makes a call known, so that its answer finds it.
func (c *Conn) register(pending *call) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.last++
	c.calls[c.last] = pending
	return c.last, nil
}

// giveUp forgets a call that has no answer yet. It returns false if it has one.
func (c *Conn) giveUp(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.calls[id]; !ok {
		return false
	}
	delete(c.calls, id)
	c.given.add(id)
	return true
}

// settle gives the call with that id its answer, once. It returns the reason why it cannot: a reason for Defect, or ""
// if the call was given up.
func (c *Conn) settle(id json.RawMessage, a answer) (ok bool, reason string) {
	pending, reason := c.take(id)
	if pending == nil {
		return false, reason
	}
	if a.err != nil {
		a.err = fmt.Errorf("calling %s: %w", pending.method, a.err)
	}
	pending.came <- a
	return true, ""
}

// take removes the call that an answer is for. It returns the reason if there is none, as settle does.
func (c *Conn) take(id json.RawMessage) (*call, string) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil, UnknownAnswer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pending, ok := c.calls[n]
	switch {
	case ok:
		delete(c.calls, n)
		return pending, ""
	case n <= 0 || n > c.last:
		return nil, UnknownAnswer
	case c.given.take(n):
		return nil, ""
	}
	return nil, SecondAnswer
}

func formatID(id int64) json.RawMessage { return strconv.AppendInt(nil, id, 10) }
