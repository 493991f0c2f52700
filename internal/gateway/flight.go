package gateway

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

// A flight is one request of a host on its way to a server and back. What a server sends meanwhile is matched with it:
// progress by a token of the gateway's own; questions and log messages by being the only or the newest that fits, since
// nothing in them says which request they belong to.
type flight struct {
	call  *guard.Call     // nil if no agent's data is on board
	takes json.RawMessage // the host's capabilities
	level string          // the least log level that the request asks for, "" for none (2026-07-28, Logging)
	asks  chan *ask       // takes what the server asks of a host that takes no requests; nil if it takes them
	over  chan struct{}   // closed when the server's answer is there, or will not come

	dropped <-chan struct{} // closed when a host that takes no requests does not wait any more

	fleet    *flights // of which it is one
	number   int64    // of the fleet, and its progress token
	patience time.Duration
	cancel   context.CancelCauseFunc // for who is out of patience

	mu        sync.Mutex
	front     *front          // the host connection that waits for the answer
	id        json.RawMessage // of the host's request
	token     json.RawMessage // the host's own progress token; nil if it has none
	due       time.Time       // when patience with the server ends
	questions int             // that the host has to answer first: until then it does not end
}

func newFlight(f *front, m *rpc.Message, who *protocol.Client) *flight {
	fl := &flight{takes: who.Capabilities, over: make(chan struct{})}
	fl.board(f, m)
	if set := f.joined(); set != nil && !who.Modern() {
		fl.level = set.levelOf(f)
		return fl
	}
	fl.level = protocol.MetaString(m.Params, protocol.MetaLogLevel)
	return fl
}

// board says which request of which connection waits for the answer from now on.
func (fl *flight) board(f *front, m *rpc.Message) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.front, fl.id = f, m.ID
	fl.token, _ = rawjson.Get(m.Params, "_meta", "progressToken")
}

// write sends a message to the host that waits, on the stream of its request.
func (fl *flight) write(m *rpc.Message) {
	fl.mu.Lock()
	f, id := fl.front, fl.id
	fl.mu.Unlock()
	f.write(rpc.WithRelated(context.Background(), id), m)
}

// related returns ctx for what belongs to the host's request.
func (fl *flight) related(ctx context.Context) context.Context {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return rpc.WithRelated(ctx, fl.id)
}

// left returns how much patience is left with the server at a time; false if it does not matter.
func (fl *flight) left(now time.Time) (time.Duration, bool) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.due.Sub(now), fl.questions == 0
}

// wait stops the server's clock while the host answers a question, until done is called.
func (fl *flight) wait() (done func()) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.questions++
	return func() {
		fl.mu.Lock()
		fl.questions--
		fl.due = time.Now().Add(fl.patience)
		fl.mu.Unlock()
		fl.fleet.mu.Lock()
		defer fl.fleet.mu.Unlock()
		if fl.fleet.by[fl.number] == fl {
			fl.fleet.lookAfter(fl.patience)
		}
	}
}

// waits reports whether the host has a question to answer.
func (fl *flight) waits() bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.questions > 0
}

// progress passes a notification on under the host's own token, if it has one.
func (fl *flight) progress(m *rpc.Message) {
	fl.mu.Lock()
	token := fl.token
	fl.mu.Unlock()
	if token == nil {
		return
	}
	if params, err := rawjson.Set(m.Params, token, "progressToken"); err == nil {
		fl.write(rpc.NewNotification(m.Method, params))
	}
}

// maxFlights bounds the requests over one connection to a server that wait for it. It is less than a host may have in flight
// (maxInFlight), so that a server which does not answer leaves room for others.
const maxFlights = 4096

// flights are the requests that wait for one server. The zero flights are ready to use.
type flights struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*flight

	look  *time.Timer // calls expire; one for all, since there are many flights and few are late. It runs only while there are flights
	looks time.Time   // when it does; zero if it does not run
}

// depart enters a flight, cancelled when its server has let patience pass without an answer, and returns its params with a
// progress token of ours in place of the host's: hosts choose theirs freely, and several may share a connection. It
// returns false if there are too many.
func (fs *flights) depart(fl *flight, params json.RawMessage, patience time.Duration, cancel context.CancelCauseFunc) (_ json.RawMessage, ok bool) {
	fl.fleet, fl.patience, fl.cancel, fl.due = fs, patience, cancel, time.Now().Add(patience)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.by) >= maxFlights {
		return nil, false
	}
	fs.last++
	fl.number = fs.last
	if fs.by == nil {
		fs.by = map[int64]*flight{}
	}
	fs.by[fl.number] = fl
	fs.lookAfter(patience)
	if _, ok := rawjson.Get(params, "_meta", "progressToken"); !ok {
		return params, true
	}
	replaced, err := rawjson.Set(params, strconv.AppendInt(nil, fl.number, 10), "_meta", "progressToken")
	if err != nil {
		return params, true
	}
	return replaced, true
}

// lookAfter has expire called in that time at the latest. The lock must be held.
func (fs *flights) lookAfter(d time.Duration) {
	at := time.Now().Add(d)
	switch {
	case fs.look == nil:
		fs.look = time.AfterFunc(d, fs.expire)
	case fs.looks.IsZero() || at.Before(fs.looks):
		fs.look.Reset(d)
	default:
		return
	}
	fs.looks = at
}

// expire cancels the flights whose servers took too long.
func (fs *flights) expire() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	now := time.Now()
	fs.looks = time.Time{}
	for _, fl := range fs.by {
		switch left, matters := fl.left(now); {
		case !matters:
		case left <= 0:
			fl.cancel(hosterror.New("no answer within {}", hosterror.Time(fl.patience)))
		default:
			fs.lookAfter(left)
		}
	}
}

// land takes a flight off the books.
func (fs *flights) land(fl *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.by, fl.number)
	close(fl.over)
	if len(fs.by) == 0 && fs.look != nil { // else the timer keeps a connection that has ended until it runs out
		fs.look.Stop()
		fs.looks = time.Time{}
	}
}

// withToken returns the flight that has the token; nil if there is none.
func (fs *flights) withToken(params json.RawMessage) *flight {
	raw, _ := rawjson.Get(params, "progressToken")
	number, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.by[number]
}

// among returns the flights that fit, oldest first.
func (fs *flights) among(fits func(*flight) bool) []*flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var found []*flight
	for _, fl := range fs.by {
		if fits(fl) {
			found = append(found, fl)
		}
	}
	slices.SortFunc(found, func(a, b *flight) int { return int(a.number - b.number) })
	return found
}

// newest returns the flight that left last and carries an agent's data; nil if there is none.
func (fs *flights) newest() *flight {
	found := fs.among(func(fl *flight) bool { return fl.call != nil })
	if len(found) == 0 {
		return nil
	}
	return found[len(found)-1]
}
