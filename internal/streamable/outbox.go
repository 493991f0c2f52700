package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rpc"
)

// maxQueued is how many messages wait for a response to take them.
const maxQueued = 256

// A kind is the treatment of a message for which there is no room.
type kind uint8

const (
	notification kind = iota // dropped
	request                  // refused
	response                 // always taken; the last on its stream
)

// A part is one encoded message on its way to the client.
type part struct {
	kind   kind
	data   [][]byte // in pieces, without line breaks
	size   int64    // of all pieces, in bytes
	status int      // of the HTTP response, if this is all of it
	failed bool     // it is a response that holds an error
}

// encode returns m as one line. The long parts of m must not change any more.
func encode(m *rpc.Message) part {
	p := part{data: m.Parts(), status: http.StatusOK, failed: m.Error != nil}
	for _, piece := range p.data {
		p.size += int64(len(piece))
	}
	switch {
	case m.IsResponse():
		p.kind = response
	case m.IsRequest():
		p.kind = request
	}
	return p
}

// failure returns the response to a request that will get no other.
func failure(id json.RawMessage, status int, text string) part {
	p := encode(rpc.ReplyError(id, &rpc.Error{Code: rpc.InternalError, Message: text}))
	p.status = status
	return p
}

// statusOf returns the HTTP status that an error has from 2026-07-28 on, if nothing was sent before it.
func statusOf(m *rpc.Message) int {
	if e := m.Failure(); e != nil {
		switch e.Code {
		case rpc.MethodNotFound:
			return http.StatusNotFound
		case rpc.InvalidParams, rpc.HeaderMismatch, rpc.MissingCapability, rpc.UnsupportedVersion:
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// An outbox holds the messages to send on one response. Any number of goroutines put; one takes.
type outbox struct {
	limit int64         // bytes
	pool  *budget.Pool  // of them all
	wake  chan struct{} // holds a token when there may be something new

	mu    sync.Mutex
	lease *budget.Lease // of size
	parts []part
	size  int64
	over  bool // nothing is taken in any more
}

// newOutbox returns an outbox of so many bytes, which count in the pool until release is called.
func newOutbox(limit int64, pool *budget.Pool) *outbox {
	b := &outbox{limit: limit, pool: pool, wake: make(chan struct{}, 1)}
	b.lease, _ = pool.Acquire(0)
	return b
}

// put queues p and reports whether it did. After a response it does no more.
func (b *outbox) put(p part) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || !b.makeRoom(p) {
		return false
	}
	if !b.lease.Grow(p.size) {
		if p.kind != response {
			b.pool.Refused()
			return false
		}
		b.lease.Force(p.size) // it is there already, and all that its client waits for
	}
	b.parts = append(b.parts, p)
	b.size += p.size
	b.over = p.kind == response
	b.signal()
	return true
}

// makeRoom drops the oldest notifications for p as far as it must, and reports whether p fits then.
func (b *outbox) makeRoom(p part) bool {
	for len(b.parts) > 0 && (len(b.parts) >= maxQueued || b.size+p.size > b.limit) {
		i := slices.IndexFunc(b.parts, func(q part) bool { return q.kind == notification })
		if i < 0 {
			return p.kind == response
		}
		b.size -= b.parts[i].size
		b.lease.Shrink(b.parts[i].size)
		b.parts = slices.Delete(b.parts, i, i+1)
	}
	return true
}

// next takes the oldest part. If there is none, over says whether there will be one.
func (b *outbox) next() (p part, ok, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.parts) == 0 {
		return part{}, false, b.over
	}
	p = b.parts[0]
	b.parts[0] = part{}
	b.parts = b.parts[1:]
	b.size -= p.size
	b.lease.Shrink(p.size)
	return p, true, false
}

// seal ends the outbox; its messages can still be taken.
func (b *outbox) seal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.signal()
}

// release takes the messages in the outbox out of the pool: nobody will take them any more, or very soon.
func (b *outbox) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lease.Release()
}

// succeed ends the outbox and returns one that has its messages.
func (b *outbox) succeed() *outbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	heir := newOutbox(b.limit, b.pool)
	heir.parts, heir.size, heir.over = b.parts, b.size, b.over
	heir.lease, b.lease = b.lease, heir.lease
	b.parts, b.size, b.over = nil, 0, true
	b.signal()
	return heir
}

// signal wakes the taker. The lock must be held.
func (b *outbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// errEnded says that an outbox was sealed before a response came.
var errEnded = errors.New("stream ended")

// answer waits for the response, and passes over earlier messages.
func (b *outbox) answer(ctx context.Context) (part, error) {
	for {
		switch p, ok, over := b.next(); {
		case ok && p.kind == response:
			return p, nil
		case ok:
			continue
		case over:
			return part{}, errEnded
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return part{}, ctx.Err()
		}
	}
}
