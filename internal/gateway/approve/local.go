package approve

import (
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
)

// Bounds of the approval requests that wait in one process, of the answers of servers that wait with them, and of the
// new requests of one agent session in a minute. Requests beyond a bound are refused, and so are their calls. A call
// with an open request gets that one, and no new one.
const (
	maxOpen = 1000
	maxHeld = 256 << 20 // bytes
	maxRate = 120
)

// An openSet holds the open approval requests of this process. All but find, count, closed and remove need the lock.
type openSet struct {
	mu    sync.Mutex
	byID  map[string]*Pending
	held  int                        // bytes of the answers in it
	rates map[string]*bounded.Window // of new requests, by agent session
}

func newOpenSet() openSet {
	return openSet{byID: map[string]*Pending{}, rates: map[string]*bounded.Window{}}
}

// expire removes the requests and rates that are too old. The map is small (maxOpen), so a walk is cheap beside the
// caller's work.
func (o *openSet) expire(now time.Time) {
	for _, p := range o.byID {
		if !now.Before(p.Expires) {
			o.drop(p)
		}
	}
	for key, r := range o.rates {
		if r.Over(now) {
			delete(o.rates, key)
		}
	}
}

// admits reports whether there is room for a request, and counts it for its session if there is.
func (o *openSet) admits(p *Pending) bool {
	if len(o.byID) >= maxOpen || o.held+p.size() > maxHeld {
		return false
	}
	r := o.rates[p.Session]
	if r == nil {
		r = &bounded.Window{Length: time.Minute}
		o.rates[p.Session] = r
	}
	return r.Add(p.Asked) <= maxRate
}

func (o *openSet) add(p *Pending) {
	o.byID[p.ID] = p
	o.held += p.size()
}

func (o *openSet) drop(p *Pending) {
	delete(o.byID, p.ID)
	o.held -= p.size()
}

// find returns the request with an id, which may have been answered; nil if there is none.
func (o *openSet) find(id string) *Pending {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(time.Now())
	return o.byID[id]
}

// count returns how many of the requests are not answered.
func (o *openSet) count() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(time.Now())
	for _, p := range o.byID {
		if !p.closed {
			n++
		}
	}
	return n
}

// closed notes that a request was answered in this process.
func (o *openSet) closed(p *Pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.closed = true
}

func (o *openSet) remove(p *Pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID[p.ID] == p {
		o.drop(p)
	}
}

// maxContinuations bounds the calls that go on without another request. Beyond it, the oldest need a new request.
const maxContinuations = 4096

// continuations hold the bindings of calls that wait for their next round, each for a time and for one use. The zero
// value is ready to use.
type continuations struct {
	mu    sync.Mutex
	until *bounded.Map[string, time.Time] // by binding; nil before the first
}

func (c *continuations) add(binding string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = bounded.NewMap[string, time.Time](maxContinuations)
	}
	c.until.Set(binding, until)
}

func (c *continuations) take(binding string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		return false
	}
	until, ok := c.until.Get(binding)
	c.until.Delete(binding)
	return ok && now.Before(until)
}
