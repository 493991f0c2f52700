package backend

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A Registry is the servers as they are configured, and every set of connections to them.
type Registry struct {
	*environment

	mu      sync.Mutex
	servers []Server
	sets    map[*Set]bool
	shared  map[string]*Set         // by principal, and the requests that its clients take
	joint   map[string]*Set         // of HTTP sessions, by all in which they must agree
	heard   map[string]*guard.Heard // by principal
	closed  bool
}

// New returns a registry of configured servers. It connects to none before a host does.
func New(servers []Server, opts *Options) *Registry {
	r := &Registry{
		environment: &environment{Options: opts, starts: make(chan struct{}, maxStarts), stats: map[string]*serverStats{},
			reviews: reviews{Options: opts, held: map[string]map[pins.Kind]map[string]pins.Held{}}},
		servers: slices.Clone(servers), sets: map[*Set]bool{}, shared: map[string]*Set{}, joint: map[string]*Set{},
		heard: map[string]*guard.Heard{},
	}
	return r
}

// SetStartup says how long hosts wait for servers that do not answer their handshake; zero: DefaultStartup.
func (r *Registry) SetStartup(d time.Duration) {
	if d <= 0 {
		d = DefaultStartup
	}
	r.startup.Store(int64(d))
}

// Configured returns the servers in their order.
func (r *Registry) Configured() []Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servers
}

// Own returns connections that only their owner uses.
func (r *Registry) Own(hello upstream.Hello, owner Host) *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enter(hello, owner)
}

// enter makes a set, and changes its connections with the configuration until it leaves. The lock must be held.
func (r *Registry) enter(hello upstream.Hello, owner Host) *Set {
	set := newSet(r.environment, hello, owner)
	set.leave = func() {
		if r.Neighbors != nil {
			r.Neighbors.leave(set)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sets, set)
	}
	r.sets[set] = true
	set.adopt(r.servers)
	if r.Neighbors != nil {
		r.Neighbors.enter(set)
	}
	return set
}

// Shared returns the connections that the requests of a principal share. Servers of the older revisions are told once
// which requests their client takes, so clients that differ in that share none.
func (r *Registry) Shared(principal string, hello upstream.Hello) (*Set, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	key := principal + " " + protocol.RequestsTaken(hello.Capabilities)
	set, ok := r.shared[key]
	if !ok {
		set = r.enter(hello, nil)
		set.heard = r.heardBy(principal)
		r.shared[key] = set
	}
	return set, nil
}

var errClosed = hosterror.New("the gateway is closed")

// heardBy returns the label of the text that the clients of a principal that share connections were sent: an agent of
// any may know it. The lock must be held.
func (r *Registry) heardBy(principal string) *guard.Heard {
	if r.heard[principal] == nil {
		r.heard[principal] = r.newHeard()
	}
	return r.heard[principal]
}

// Join returns the connections that sessions like this one share, and makes the host a member until it leaves.
func (r *Registry) Join(h Host, principal string, hello upstream.Hello) (*Set, error) {
	key := fmt.Sprintf("%q %q %s %s", principal, hello.Protocol, rawjson.Canonical(hello.ClientInfo), rawjson.Canonical(hello.Capabilities))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	set := r.joint[key]
	if set == nil {
		set = r.enter(hello, nil)
		set.heard = r.heardBy(principal)
		set.key = key
		r.joint[key] = set
	}
	set.Audience.enter(h)
	return set, nil
}

// Leave ends what Join began. The last member closes the connections.
func (r *Registry) Leave(h Host, set *Set) error {
	r.mu.Lock()
	watched, last := set.Audience.leave(h)
	if last {
		delete(r.joint, set.key)
	}
	r.mu.Unlock()
	if last {
		return set.Close()
	}
	for _, end := range watched {
		end()
	}
	return nil
}

// Change gives every set connections by a new configuration. It returns when the connections that are in none any more
// have ended, and tells hosts that every list may be another.
func (r *Registry) Change(servers []Server) {
	r.mu.Lock()
	r.servers = slices.Clone(servers)
	r.reviews.drop(servers)
	var sets []*Set
	var ended []*Conn
	for set := range r.sets {
		sets = append(sets, set)
		ended = append(ended, set.adopt(r.servers)...)
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range ended {
		wg.Go(func() {
			if err := c.close(); err != nil {
				r.Log.Warn("ending the connection", "server", c.Name(), "error", err)
			}
		})
	}
	wg.Wait()
	for _, set := range sets {
		_ = r.Run(set.listsChanged) // in its own goroutine: a host may be slow to take it
	}
}

// Close ends the connections that hosts share, and waits for everything that runs. Each host connection closes its own.
func (r *Registry) Close() error {
	r.stop()
	r.mu.Lock()
	r.closed = true
	shared := r.shared
	r.shared = nil
	r.mu.Unlock()
	var errs []error
	for _, set := range shared {
		errs = append(errs, set.Close())
	}
	r.running.Wait()
	return errors.Join(errs...)
}

// Sets returns every set of connections.
func (r *Registry) Sets() []*Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.sets))
}

// Tools returns the tools that hosts were shown last, with their contracts, in the order of the servers. Nothing is
// asked of a server: as long as no connected host has looked at the tools there are none. Of the lists of several
// hosts, one counts.
func (r *Registry) Tools() []catalog.Entry {
	sets := r.Sets()
	var all []catalog.Entry
	seen := map[[2]string]bool{}
	for _, set := range sets {
		l := set.Cached(catalog.Tools)
		if l == nil {
			continue
		}
		for e := range l.All() {
			if at := [2]string{e.Server, e.Name}; !seen[at] {
				seen[at] = true
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b catalog.Entry) int { return cmp.Compare(r.place(a.Server), r.place(b.Server)) })
	return all
}

// Held returns the definitions that no one has accepted, as their servers gave them last, by server, kind and name.
func (r *Registry) Held() []pins.Held { return r.reviews.all() }

// place returns the place of a server in the configuration.
func (r *Registry) place(server string) int {
	return slices.IndexFunc(r.Configured(), func(s Server) bool { return s.Name == server })
}
