package backend

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
)

// A Set is the connections that one host connection, or the shared requests of one principal, have to the servers.
type Set struct {
	group
	*lists
	current    atomic.Pointer[[]*Conn]
	key        string        // of a joint set among those of the registry
	leave      func()        // takes the set out of the registry
	ended      chan struct{} // closed when the set is closed
	announcing atomic.Bool   // that servers have come

	beside  errand // for neighbors
	keeping sync.Mutex
	kept    label.Label // of all that hosts may have been shown, as it was kept last
}

func newSet(e *environment, hello upstream.Hello, owner Host) *Set {
	set := &Set{ended: make(chan struct{})}
	set.lists = newLists(e, set)
	set.group = group{environment: e, Audience: &Audience{owner: owner, listeners: map[*Listener]bool{}}, Hello: hello, heard: e.newHeard(),
		tools: set.Tools, forget: set.drop, arrived: set.announceArrival}
	return set
}

// adopt gives the set a connection for each server, in their order: its own where the server is reached as before. It
// returns the connections that are left over, for the caller to close.
func (set *Set) adopt(servers []Server) (ended []*Conn) {
	before := set.All()
	after := make([]*Conn, 0, len(servers))
	for _, s := range servers {
		var l *Conn
		if i := slices.IndexFunc(before, func(l *Conn) bool { return l.Name() == s.Name }); i >= 0 {
			l = before[i]
		}
		switch {
		case l == nil:
			l = newConn(&set.group, s, nil)
		case !l.server.Spec.Same(s.Spec):
			ended = append(ended, l)
			l = newConn(&set.group, s, l.gone)
		default:
			l.agree(s)
		}
		after = append(after, l)
	}
	for _, l := range before {
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == l.Name() }) {
			ended = append(ended, l)
		}
	}
	set.current.Store(&after)
	set.drop("")
	return ended
}

// All returns the connections as they are now, in the order of the configuration. Callers that use them twice keep the
// slice.
func (set *Set) All() []*Conn {
	if now := set.current.Load(); now != nil {
		return *now
	}
	return nil
}

// Find returns the connection to the named server. A list may still name a server that is gone: then it is a connection
// that is closed.
func (set *Set) Find(server string) *Conn {
	for _, l := range set.All() {
		if l.Name() == server {
			return l
		}
	}
	l := newConn(&set.group, Server{Name: server}, nil)
	l.end()
	l.closed = true
	return l
}

// generation returns a pointer that changes with the configuration.
func (set *Set) generation() *[]*Conn { return set.current.Load() }

// Connect dials every server that is not connected, and waits for them: for those that hosts have waited for before not
// at all, and for the others as long as the startup, if only one is connected then. It fails if none can be reached.
func (set *Set) Connect(ctx context.Context) error {
	type outcome struct {
		err  error
		slow bool
	}
	all := set.All()
	outcomes := make(chan outcome, len(all))
	waiting, dialled := 0, 0
	var connected bool
	for _, l := range all {
		if l.Open() != nil {
			connected = true
			continue
		}
		slow := l.isSlow()
		if dialled++; !slow {
			waiting++
		}
		go func() {
			_, err := l.Connection(ctx)
			outcomes <- outcome{err, slow}
		}()
	}
	late := time.NewTimer(set.patience())
	defer late.Stop()
	var errs []error
	for patient := true; dialled > 0 && (!connected || patient && waiting > 0); {
		select {
		case o := <-outcomes:
			dialled--
			if !o.slow {
				waiting--
			}
			connected = connected || o.err == nil
			errs = append(errs, o.err)
		case <-late.C:
			patient = false
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if connected {
		return nil
	}
	return errors.Join(errs...)
}

// announceArrival tells hosts that a server has come which they were told nothing of. Servers that come together are
// announced together.
func (set *Set) announceArrival() {
	if !set.announcing.CompareAndSwap(false, true) {
		return
	}
	_ = set.Run(func() { // if the gateway closes, no host needs to know any more
		select {
		case <-time.After(arrivalWait):
		case <-set.ended:
		}
		set.announcing.Store(false)
		set.listsChanged()
	})
}

// AwaitLists waits until the servers have acknowledged that they are listened to.
func (set *Set) AwaitLists(ctx context.Context) {
	late := time.After(ackWait)
	for _, l := range set.All() {
		ready := l.acknowledgement()
		if ready == nil {
			continue
		}
		select {
		case <-ready:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// OnlyWith returns the connection to the only connected server that has a capability; nil if there are none or several.
func (set *Set) OnlyWith(capability string) *Conn {
	var only *Conn
	for _, l := range set.All() {
		conn := l.Open()
		if conn == nil {
			continue
		}
		if _, ok := rawjson.Get(conn.Welcome(), "capabilities", capability); !ok {
			continue
		}
		if only != nil {
			return nil
		}
		only = l
	}
	return only
}

// Subscribe has a server announce changes of a resource to a host of an older revision. To subscribe twice is to
// subscribe once.
func (set *Set) Subscribe(ctx context.Context, h Host, c *Conn, uri string) error {
	if !set.HasMember(h) {
		if c.watched(uri) {
			return nil
		}
		return c.Subscribe(ctx, uri)
	}
	if set.watches(h, uri) {
		return nil
	}
	if err := c.Subscribe(ctx, uri); err != nil {
		return err
	}
	set.subscribed(h, uri, func() { c.Unsubscribe(uri) })
	return nil
}

// Unsubscribe ends the subscription of a host of an older revision.
func (set *Set) Unsubscribe(h Host, c *Conn, uri string) {
	if set.HasMember(h) {
		set.unsubscribe(h, uri)
		return
	}
	c.Unsubscribe(uri)
}

// Close ends the connections, and waits for the servers' processes.
func (set *Set) Close() error {
	set.leave()
	close(set.ended)
	var wg sync.WaitGroup
	all := set.All()
	errs := make([]error, len(all))
	for i, l := range all {
		wg.Go(func() { errs[i] = l.close() })
	}
	wg.Wait()
	set.processes.Wait()
	return errors.Join(errs...)
}
