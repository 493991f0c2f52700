package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/internal/rpc"
)

// An offerer is a transport that can send a message without waiting.
type offerer interface {
	// Offer reports whether the message was begun; if not, nothing of it was sent.
	Offer(m *rpc.Message) (begun bool, err error)
}

// Start is Call for those who do not wait: done gets the values that Call would return, once, unless Start returns an error. If the
// transport takes the request at once, no goroutine is started or changed: the one that reads from the server calls done.
// So done must not take long, nor wait for anything, nor call [Conn.Close].
func (c *Conn) Start(ctx context.Context, method string, params json.RawMessage, done func(*rpc.Message, error)) error {
	params, err := c.era.dress(params)
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	pending := &call{method: method, done: func(a answer) { done(a.message, a.err) }}
	id, err := c.registerUntil(ctx, pending)
	if err != nil {
		return err
	}
	m := rpc.NewRequest(formatID(id), method, params)
	o, ok := c.transport.(offerer)
	if ok {
		ok, err = o.Offer(m)
	}
	if ok && err == nil {
		return nil
	}
	c.task(func() {
		if !ok {
			err = c.transport.Write(ctx, m)
		}
		if err != nil && c.giveUp(id) {
			pending.settle(answer{err: c.unanswered(ctx, method, err)})
		}
	})
	return nil
}

// registerUntil makes a call known that is given up when ctx ends.
func (c *Conn) registerUntil(ctx context.Context, pending *call) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := c.enter(pending)
	if err == nil {
		pending.stop = context.AfterFunc(ctx, func() {
			if c.giveUp(id) {
				c.tellCancelled(id, ctx.Err())
				pending.done(answer{err: ctx.Err()})
			}
		})
	}
	return id, err
}

// orphan tells those who started calls that no answer will come.
func (c *Conn) orphan(reason error) {
	c.mu.Lock()
	var left []*call
	for id, pending := range c.calls {
		if pending.stop != nil {
			delete(c.calls, id)
			c.given.add(id)
			left = append(left, pending)
		}
	}
	c.mu.Unlock()
	for _, pending := range left {
		pending.settle(answer{err: reason})
	}
}
