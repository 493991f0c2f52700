package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// There is a memory in another process, which several processes share. Make one with [NewThere]. It is safe for
// concurrent use.
//
// The other process may end at any time, and another one take its place without any knowledge. So each operation says
// in which epoch the asker last heard of the session. A memory of another epoch, and one that may have missed an
// operation, takes the history of the session as unknown.
type There struct {
	ask func(context.Context, []byte) ([]byte, error)

	mu    sync.Mutex
	known map[string]contact // by key of the session
	more  bool               // there were more than are known
}

// A contact is when a memory was last heard of a session.
type contact struct {
	epoch    string
	failures int // of operations
	told     int // of these, those that the memory was told of
}

// maxContacts is how many sessions are known apart from any other.
const maxContacts = 4096

// lost is the epoch of a session that a memory may have missed something of.
const lost = "lost"

// NewThere returns the memory that ask reaches: it hands an operation to [Here.Answer] in another process, and returns
// the answer.
func NewThere(ask func(ctx context.Context, operation []byte) (answer []byte, err error)) *There {
	return &There{ask: ask, known: map[string]contact{}}
}

func (t *There) do(ctx context.Context, o *op) (*answer, error) {
	key := o.Ref.Key
	since, failures := t.since(key)
	a, err := t.carry(ctx, o, since)
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.known[key]
	if !known && len(t.known) >= maxContacts {
		t.more = true
		return a, err
	}
	if err != nil {
		c.failures++
	} else {
		c.epoch, c.told = a.Epoch, max(c.told, failures)
	}
	t.known[key] = c
	return a, err
}

// since returns the epoch in which the memory was last heard of a session, and how many operations have failed by now.
func (t *There) since(key string) (epoch string, failures int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.known[key]
	if !known && t.more || c.failures > c.told {
		return lost, c.failures
	}
	return c.epoch, c.failures
}

// carry hands an operation to the other process.
func (t *There) carry(ctx context.Context, o *op, since string) (*answer, error) {
	out := *o
	out.V, out.Since = version, since
	text, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	if text, err = t.ask(ctx, text); err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if a.V != version || a.Epoch == "" || (a.Facts != nil) != o.returns() || (a.Finding != nil) != o.finds() {
		return nil, errors.New("the other process gives no answer that is understood; start the host again, with the same weir")
	}
	return &a, nil
}

// returns reports whether the answer to an operation has facts.
func (o *op) returns() bool { return o.Do == doDescribe || o.finds() }

// finds reports whether the answer to an operation has a finding.
func (o *op) finds() bool { return o.Do == doTrace || o.Do == doCharge }

// Answer carries out an operation of a [There] in another process. An operation that is not understood changes nothing.
func (h *Here) Answer(ctx context.Context, operation []byte) ([]byte, error) {
	var o op
	if err := json.Unmarshal(operation, &o); err != nil {
		return nil, fmt.Errorf("reading an operation on traces: %w", err)
	}
	if o.V != version || o.Ref.Key == "" || !o.complete() {
		return nil, errors.New("reading an operation on traces: it is none that is understood")
	}
	a, err := h.do(ctx, &o)
	if err != nil {
		return nil, err
	}
	a.V = version
	return json.Marshal(a)
}

// complete reports whether an operation has all that it needs.
func (o *op) complete() bool {
	call, state, found := o.Call != nil, o.Facts != nil, o.Finding != nil
	switch o.Do {
	case doDescribe:
		return state
	case doTrace, doCharge:
		return call && state
	case doAddCall, doDischarge, doAccept:
		return call && state && found
	case doAwait, doAddResult:
		return call
	case doCovers, doGrant:
		return found
	}
	return true
}
