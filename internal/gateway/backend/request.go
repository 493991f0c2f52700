package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A Request is one request of a host on its way to a server and back. Messages that the server sends meanwhile are
// matched with it: progress by a token of the gateway's own; questions and log messages by being the only or the newest
// that fits, since nothing in them says which request they belong to.
type Request struct {
	Call  *guard.Call     // nil if no agent's data is on board
	takes json.RawMessage // the host's capabilities
	level string          // the least log level that the request asks for, "" for none (2026-07-28, Logging)
	Asks  chan *Question  // takes the server's questions to a host that takes no requests; nil if it takes them
	over  chan struct{}   // closed when the server's answer is there, or will not come

	Dropped <-chan struct{} // closed when a host that takes no requests does not wait any more

	Within time.Duration // for its server to answer; zero: the timeout of the server

	table    *requests // of which it is one
	number   int64     // in the table, and its progress token
	patience time.Duration
	cancel   context.CancelCauseFunc // for who is out of patience
	heard    bool                    // the server has said something else before it was lost; set once the call is over

	mu        sync.Mutex
	host      Host            // the host connection that waits for the answer
	id        json.RawMessage // of the host's request
	token     json.RawMessage // the host's own progress token; nil if it has none
	due       time.Time       // when patience with the server ends
	questions int             // that the host has to answer first: until then it does not end
}

// NewRequest returns a request of a host, by the message and the client that made it.
func NewRequest(a *Audience, h Host, m *rpc.Message, who *protocol.Client) *Request {
	r := &Request{takes: who.Capabilities, over: make(chan struct{})}
	r.Board(h, m)
	if a.HasMember(h) && !who.Modern() {
		r.level = a.LevelOf(h)
		return r
	}
	r.level = protocol.MetaString(m.Params, protocol.MetaLogLevel)
	return r
}

// Board says which request of which connection waits for the answer from now on.
func (r *Request) Board(h Host, m *rpc.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.host, r.id = h, m.ID
	r.token, _ = rawjson.Get(m.Params, "_meta", "progressToken")
}

// write sends a message to the host that waits, on the stream of its request.
func (r *Request) write(m *rpc.Message) {
	r.mu.Lock()
	h, id := r.host, r.id
	r.mu.Unlock()
	h.Write(rpc.WithRelated(context.Background(), id), m)
}

// Related returns ctx for messages that belong to the host's request.
func (r *Request) Related(ctx context.Context) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return rpc.WithRelated(ctx, r.id)
}

// Heard reports of a call that has no answer whether its server sent a question or a notification meanwhile.
func (r *Request) Heard() bool { return r.heard }

// Left returns the rest of the time that the server had for its answer.
func (r *Request) Left() time.Duration {
	left, _ := r.left(time.Now())
	return left
}

// left returns how much patience is left with the server at a time; false if it does not matter.
func (r *Request) left(now time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.due.Sub(now), r.questions == 0
}

// Wait stops the server's clock while the host answers a question, until done is called.
func (r *Request) Wait() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.questions++
	return func() {
		r.mu.Lock()
		r.questions--
		r.due = time.Now().Add(r.patience)
		r.mu.Unlock()
		r.table.mu.Lock()
		defer r.table.mu.Unlock()
		if r.table.by[r.number] == r {
			r.table.lookAfter(r.patience)
		}
	}
}

// waits reports whether the host has a question to answer.
func (r *Request) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.questions > 0
}

// progress passes a notification on under the host's own token, if it has one.
func (r *Request) progress(m *rpc.Message) {
	r.mu.Lock()
	token := r.token
	r.mu.Unlock()
	if token == nil {
		return
	}
	if params, err := rawjson.Set(m.Params, token, "progressToken"); err == nil {
		r.write(rpc.NewNotification(m.Method, params))
	}
}

// maxRequests bounds the requests over one connection to a server that wait for it. It is less than a host may have in
// Request (maxInFlight), so that a server which does not answer leaves room for others.
const maxRequests = 4096

// requests are the requests that wait for one server. The zero value is ready to use.
type requests struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*Request

	look  *time.Timer // calls expire; one for all, since there are many requests and few are late. It runs only while there are any
	looks time.Time   // when it does; zero if it does not run
}

// depart enters a request, cancelled when its server has let patience pass without an answer, and returns its params
// with a progress token of ours in place of the host's: hosts choose theirs freely, and several may share a connection.
// It returns false if there are too many.
func (t *requests) depart(r *Request, params json.RawMessage, patience time.Duration, cancel context.CancelCauseFunc) (_ json.RawMessage, ok bool) {
	r.table, r.patience, r.cancel, r.due = t, patience, cancel, time.Now().Add(patience)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) >= maxRequests {
		return nil, false
	}
	t.last++
	r.number = t.last
	if t.by == nil {
		t.by = map[int64]*Request{}
	}
	t.by[r.number] = r
	t.lookAfter(patience)
	if _, ok := rawjson.Get(params, "_meta", "progressToken"); !ok {
		return params, true
	}
	replaced, err := rawjson.Set(params, strconv.AppendInt(nil, r.number, 10), "_meta", "progressToken")
	if err != nil {
		return params, true
	}
	return replaced, true
}

// lookAfter has expire called in that time at the latest. The lock must be held.
func (t *requests) lookAfter(d time.Duration) {
	at := time.Now().Add(d)
	switch {
	case t.look == nil:
		t.look = time.AfterFunc(d, t.expire)
	case t.looks.IsZero() || at.Before(t.looks):
		t.look.Reset(d)
	default:
		return
	}
	t.looks = at
}

// expire cancels the requests whose servers took too long.
func (t *requests) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.looks = time.Time{}
	for _, r := range t.by {
		switch left, matters := r.left(now); {
		case !matters:
		case left <= 0:
			r.cancel(hosterror.New("no answer within {}", hosterror.Time(r.patience)))
		default:
			t.lookAfter(left)
		}
	}
}

// land takes a flight off the books.
func (t *requests) land(r *Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, r.number)
	close(r.over)
	if len(t.by) == 0 && t.look != nil { // else the timer keeps a connection that has ended until it runs out
		t.look.Stop()
		t.looks = time.Time{}
	}
}

// A Question is a request of a server that waits until the host comes back with the answer.
type Question struct {
	Message *rpc.Message
	Reply   chan *rpc.Message // takes one
}

// withToken returns the request that has the token; nil if there is none.
func (t *requests) withToken(params json.RawMessage) *Request {
	raw, _ := rawjson.Get(params, "progressToken")
	number, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by[number]
}

// among returns the requests that fit, oldest first.
func (t *requests) among(fits func(*Request) bool) []*Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []*Request
	for _, r := range t.by {
		if fits(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *Request) int { return int(a.number - b.number) })
	return found
}

// newest returns the request that left last and carries an agent's data; nil if there is none.
func (t *requests) newest() *Request {
	found := t.carrying()
	if len(found) == 0 {
		return nil
	}
	return found[len(found)-1]
}

// carrying returns the requests that carry an agent's data, oldest first.
func (t *requests) carrying() []*Request {
	return t.among(func(r *Request) bool { return r.Call != nil })
}
