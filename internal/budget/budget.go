// Package budget owns the limits of one process on the resources that its hosts, servers and agent sessions may take
// together.
//
//	b := budget.New(budget.Limits{Connections: 500})
//	lease, ok := b.Connections.Acquire(1)
//	if !ok {
//		return errTooMany // or evict something, which releases its lease
//	}
//	defer lease.Release()
//
// A [Budget] has one [Pool] for each resource. A pool is shared by everything in the process that takes of its
// resource, so that no number of holders, each within its own bounds, can take more. A [Lease] is released once,
// however often Release is called; a pool whose leases were all released is empty. Which holder gives way at a limit is
// the callers' decision; the pool counts it.
//
// All of it is safe for concurrent use, and waits for nothing but in [Pool.Wait].
package budget

import (
	"context"
	"sync"
)

// Limits are how much there is of each resource. A member that is not positive means its default.
type Limits struct {
	Message     int64 // bytes of one message; default 64 MiB
	Bytes       int64 // of messages that are on their way over HTTP; default 256 MiB, or two messages if that is more
	Connections int64 // of hosts over HTTP; default 4096
	Sessions    int64 // of hosts of the older revisions over HTTP; default 1000
	Processes   int64 // of servers; default 256
	Traces      int64 // bytes that are remembered of agent sessions to trace values by; default 32 MiB
}

// The defaults of Limits.
const (
	DefaultMessage     = 64 << 20
	DefaultBytes       = 256 << 20
	DefaultConnections = 4096
	DefaultSessions    = 1000
	DefaultProcesses   = 256
	DefaultTraces      = 32 << 20
)

// A Budget is the pools of one process. Make one with [New].
type Budget struct {
	Message int64 // the limit of one message, in bytes

	Bytes, Connections, Sessions, Processes, Traces *Pool
}

// New returns a budget of which nothing is taken.
func New(l Limits) *Budget {
	if l.Message <= 0 {
		l.Message = DefaultMessage
	}
	if l.Bytes <= 0 {
		l.Bytes = max(DefaultBytes, 2*l.Message)
	}
	return &Budget{
		Message:     l.Message,
		Bytes:       newPool("message_bytes", "bytes of messages on their way over HTTP", l.Bytes, DefaultBytes),
		Connections: newPool("connections", "connections of hosts over HTTP", l.Connections, DefaultConnections),
		Sessions:    newPool("http_sessions", "HTTP sessions of the older revisions", l.Sessions, DefaultSessions),
		Processes:   newPool("processes", "processes of servers", l.Processes, DefaultProcesses),
		Traces:      newPool("trace_bytes", "bytes remembered of agent sessions", l.Traces, DefaultTraces),
	}
}

// A Usage is how one pool stands.
type Usage struct {
	Name    string `json:"name"` // for metrics: lower case, digits and underscores
	Of      string `json:"of"`   // what is counted, for people
	Used    int64  `json:"used"`
	Peak    int64  `json:"peak"`
	Limit   int64  `json:"limit"`
	Refused int64  `json:"refused"` // times that something new was turned away
	Evicted int64  `json:"evicted"` // times that something older gave way
}

// Usage tells how all pools stand, in a fixed order.
func (b *Budget) Usage() (all []Usage) {
	for _, p := range []*Pool{b.Bytes, b.Connections, b.Sessions, b.Processes, b.Traces} {
		all = append(all, p.Usage())
	}
	return all
}

// A Pool is a bounded amount of one resource.
type Pool struct {
	mu    sync.Mutex
	usage Usage
	freed chan struct{} // closed when something is released; nil if nobody waits
}

func newPool(name, of string, limit, standard int64) *Pool {
	if limit <= 0 {
		limit = standard
	}
	return &Pool{usage: Usage{Name: name, Of: of, Limit: limit}}
}

// Usage tells how the pool stands.
func (p *Pool) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usage
}

// Limit returns how much there is in all.
func (p *Pool) Limit() int64 { return p.usage.Limit }

// Acquire takes n of the resource. If that is more than is left it takes nothing and returns false; the lease is then
// empty, and may be released all the same.
func (p *Pool) Acquire(n int64) (*Lease, bool) {
	l := &Lease{pool: p}
	return l, l.Grow(n)
}

// Refused counts that something was turned away for want of this resource.
func (p *Pool) Refused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage.Refused++
}

// Evicted counts that something older gave way.
func (p *Pool) Evicted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage.Evicted++
}

// Wait returns nil when n of the resource may have become free, or the error of ctx.
func (p *Pool) Wait(ctx context.Context, n int64) error {
	p.mu.Lock()
	if p.usage.Used+n <= p.usage.Limit {
		p.mu.Unlock()
		return nil
	}
	if p.freed == nil {
		p.freed = make(chan struct{})
	}
	freed := p.freed
	p.mu.Unlock()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A Lease is the share of one holder in a pool.
type Lease struct {
	pool *Pool
	n    int64 // guarded by pool.mu
	over bool  // likewise: released
}

// Grow takes n more. If that is more than is left, or the lease was released, it takes nothing and returns false.
func (l *Lease) Grow(n int64) bool {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 0 || l.over || n > p.usage.Limit-p.usage.Used {
		return false
	}
	l.add(n)
	return true
}

// Force takes n more even beyond the limit, for something that is there already and cannot be turned away.
func (l *Lease) Force(n int64) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && !l.over {
		l.add(n)
	}
}

// add takes n more. The pool's lock must be held.
func (l *Lease) add(n int64) {
	u := &l.pool.usage
	l.n += n
	u.Used += n
	u.Peak = max(u.Peak, u.Used)
}

// Shrink gives n back, and no more than there is.
func (l *Lease) Shrink(n int64) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.take(min(n, l.n))
}

// Release gives everything back. Nothing can be taken with the lease afterwards.
func (l *Lease) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.over = true
	l.take(l.n)
}

// Evicted counts that something of the lease gave way to something newer.
func (l *Lease) Evicted() { l.pool.Evicted() }

// take gives n back. The pool's lock must be held.
func (l *Lease) take(n int64) {
	if n <= 0 {
		return
	}
	l.n -= n
	l.pool.usage.Used -= n
	if l.pool.freed != nil {
		close(l.pool.freed)
		l.pool.freed = nil
	}
}
