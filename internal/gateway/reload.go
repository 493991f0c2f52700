package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A Change is what a running gateway is to work by from now on. The members are those of Options.
type Change struct {
	Servers []Server // at least one
	Policy  *policy.Policy
	Mode    policy.Mode

	Approval, Startup time.Duration

	Why string // what is new of the policy and who accepted it, for the event; "" says nothing
}

// A Difference names the servers that a Change concerns.
type Difference struct {
	Added    []string
	Removed  []string
	Replaced []string // reached in another way than before
	Adjusted []string // reached as before, with another trust, timeout or overlay
}

// Reload takes over a change, whole or, on an error, not at all. It returns when the connections that it ends have ended.
//
// Only the connections to servers that are removed or replaced end, and with them the calls in flight over these. To
// every other server they stay as they are; a call in flight goes on by the trust and timeout that it began with. The
// next decision is made by the new policy and mode. Hosts are told that their lists may have changed. What a host of an
// older revision agreed on in its handshake stays, so it may not look for a kind of list that no server offered then.
//
// It is safe for concurrent use; one change is taken over at a time.
func (g *Gateway) Reload(ctx context.Context, c Change) (Difference, error) {
	if err := checkServers(c.Servers); err != nil {
		return Difference{}, err
	}
	g.roster.reloading.Lock()
	defer g.roster.reloading.Unlock()
	if g.roster.closed {
		return Difference{}, errClosing
	}
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	before := g.roster.configured()
	d := differ(before, c.Servers)
	e := record.New(record.Reload, time.Now())
	e.Effect, e.Message = c.Mode.String(), "policy "+c.Policy.Digest()+d.String()+c.Why
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return Difference{}, fmt.Errorf("recording the change: %w", err)
	}
	g.guard.Swap(c.Policy, c.Mode)
	g.await(c.Approval, c.Startup)
	if slices.EqualFunc(before, c.Servers, Server.same) {
		return d, nil
	}
	sets, ended := g.roster.change(c.Servers)
	var wg sync.WaitGroup
	for _, l := range ended {
		wg.Go(func() {
			if err := l.close(); err != nil {
				g.log.Warn("ending the connection", "server", l.server.Name, "error", err)
			}
		})
	}
	wg.Wait()
	for _, set := range sets {
		_ = g.holds.run(set.listsChanged) // in its own goroutine: a host may be slow to take it
	}
	return d, nil
}

// listsChanged tells hosts that every list may be another.
func (set *links) listsChanged() {
	for _, a := range announcements {
		set.announce(rpc.NewNotification(a.method, nil))
	}
}

// announcing adds to what several servers offer that hosts are told when a list changes: if no server does so, Reload does.
// What a single server says of itself stays as it is.
func announcing(capabilities json.RawMessage) json.RawMessage {
	for _, a := range announcements {
		if _, ok := rawjson.Get(capabilities, a.capability); !ok {
			continue
		}
		if more, err := rawjson.Set(capabilities, []byte("true"), a.capability, "listChanged"); err == nil {
			capabilities = more
		}
	}
	return capabilities
}

// checkServers looks for what no configuration of servers may have.
func checkServers(servers []Server) error {
	if len(servers) == 0 {
		return errors.New("a gateway needs at least one server")
	}
	seen := map[string]bool{}
	for i, s := range servers {
		if s.Name == "" || seen[s.Name] {
			return fmt.Errorf("server %d: the name %q is empty or taken", i+1, s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// differ compares two configurations of servers.
func differ(before, after []Server) (d Difference) {
	for _, s := range after {
		i := slices.IndexFunc(before, func(b Server) bool { return b.Name == s.Name })
		switch {
		case i < 0:
			d.Added = append(d.Added, s.Name)
		case !before[i].Spec.Same(s.Spec):
			d.Replaced = append(d.Replaced, s.Name)
		case !before[i].same(s):
			d.Adjusted = append(d.Adjusted, s.Name)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(after, func(s Server) bool { return s.Name == b.Name }) {
			d.Removed = append(d.Removed, b.Name)
		}
	}
	return d
}

// String returns what a Difference adds to a sentence: "; added mail; removed web", or nothing.
func (d Difference) String() string {
	var b strings.Builder
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", d.Added}, {"removed", d.Removed}, {"replaced", d.Replaced}, {"adjusted", d.Adjusted}} {
		if len(part.names) > 0 {
			b.WriteString("; " + part.what + " " + strings.Join(part.names, ", "))
		}
	}
	return b.String()
}

// A roster is the servers as they are configured, and every set of links to them.
type roster struct {
	reloading sync.Mutex // held while a change is taken over, before mu
	closed    bool       // under reloading

	told sync.Map // servers whose unreviewed definitions the log has told of

	mu      sync.Mutex
	servers []Server
	sets    map[*links]bool
	meters  map[string]*meter                             // by server
	held    map[string]map[pins.Kind]map[string]pins.Held // by server; see Gateway.Held
}

func newRoster(servers []Server) *roster {
	return &roster{servers: slices.Clone(servers), sets: map[*links]bool{}, meters: map[string]*meter{}, held: map[string]map[pins.Kind]map[string]pins.Held{}}
}

func (r *roster) configured() []Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servers
}

// enter makes the links of a set, and changes them with the configuration until the set leaves.
func (r *roster) enter(set *links) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sets[set] = true
	set.adopt(r.servers)
}

func (r *roster) leave(set *links) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sets, set)
}

// change gives every set the links of a new configuration. It returns the sets, and the links that are in none any more.
func (r *roster) change(servers []Server) (sets []*links, ended []*link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = slices.Clone(servers)
	maps.DeleteFunc(r.held, func(name string, _ map[pins.Kind]map[string]pins.Held) bool {
		return !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == name })
	})
	for set := range r.sets {
		sets = append(sets, set)
		ended = append(ended, set.adopt(r.servers)...)
	}
	return sets, ended
}

// close waits for the change that is being taken over, and lets no other begin.
func (r *roster) close() {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	r.closed = true
}

// adopt gives the set a link for each server, in their order: its own where the server is reached as before. It returns
// the links that are left over, for the caller to close.
func (set *links) adopt(servers []Server) (ended []*link) {
	before := set.all()
	after := make([]*link, 0, len(servers))
	for _, s := range servers {
		var l *link
		if i := slices.IndexFunc(before, func(l *link) bool { return l.server.Name == s.Name }); i >= 0 {
			l = before[i]
		}
		switch {
		case l == nil:
			l = set.newLink(s)
			l.meter = set.g.roster.meter(s.Name)
		case !l.server.Spec.Same(s.Spec):
			ended = append(ended, l)
			old := l
			l = set.newLink(s)
			l.meter, l.after = set.g.roster.meter(s.Name), old.gone
		default:
			l.agree(s)
		}
		after = append(after, l)
	}
	for _, l := range before {
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == l.server.Name }) {
			ended = append(ended, l)
		}
	}
	set.current.Store(&after)
	set.forget("")
	return ended
}

// all returns the links as they are now, in the order of the configuration. Who uses them twice keeps the slice.
func (set *links) all() []*link {
	if now := set.current.Load(); now != nil {
		return *now
	}
	return nil
}

// terms are what may change of a server while it is connected.
type terms struct {
	trust   contract.Trust
	timeout time.Duration
	overlay *overlay.Overlay
	resolve time.Duration
}

func (set *links) newLink(s Server) *link {
	l := &link{set: set, server: s, meter: &meter{}, gone: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	l.agree(s)
	return l
}

// agree takes over what may change of a connected server.
func (l *link) agree(s Server) {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Resolve == 0 {
		s.Resolve = DefaultResolve
	}
	l.terms.Store(&terms{s.Trust, s.Timeout, s.Overlay, s.Resolve})
}

func (l *link) trust() contract.Trust { return l.terms.Load().trust }

// overlay is what the operator says of the server; nil if nothing.
func (l *link) overlay() *overlay.Overlay { return l.terms.Load().overlay }

// timeout is how long the server may take to answer.
func (l *link) timeout() time.Duration { return l.terms.Load().timeout }

// errUnserved says that a link is closed: its host has left, the gateway ends, or the server is not configured any more.
var errUnserved = hosterror.New("it is not served any more")

// close ends the connection for good and waits for the server's process.
func (l *link) close() error {
	l.end()
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		defer close(l.gone)
	}
	d := l.dialling
	l.mu.Unlock()
	if d != nil {
		<-d.done
	}
	l.unwatch()
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// find returns the link to the named server. A list may still name a server that is gone: then it is a link that does
// not connect.
func (set *links) find(server string) *link {
	for _, l := range set.all() {
		if l.server.Name == server {
			return l
		}
	}
	l := set.newLink(Server{Name: server})
	l.end()
	l.closed = true
	return l
}
