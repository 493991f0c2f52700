package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	listTimeout = 30 * time.Second // for a server's list, if its own timeout is not shorter: all servers' calls may wait for it
	missPause   = 5 * time.Second  // between two reads of a list for names that it does not have
)

// links are the connections that one host connection, or the shared requests of one principal, have to the servers.
type links struct {
	g       *Gateway
	hello   upstream.Hello
	owner   *front // who gets what servers ask and announce; nil if shared
	key     string // of a joint set among those of the gateway
	current atomic.Pointer[[]*link]
	heard   *heard

	ended      chan struct{}  // closed when the set is closed
	processes  sync.WaitGroup // that have not ended
	announcing atomic.Bool    // that servers have come

	reading chan struct{}        // holds a token while somebody reads a list that is not in the cache
	misses  map[string]time.Time // when a list was last read for a name that it did not have; who has the token may use it

	mu        sync.Mutex
	lists     map[string]*catalog.List // by list method
	level     string                   // of log messages, as the host has set it; "" if it has not
	listeners map[*listener]bool
	members   map[*front]*member // of a joint set; nil of any other
}

// A link is the connection to one server. It is dialled when first needed, and again after the server has died.
type link struct {
	set    *links
	server Server // as it is reached; its trust and timeout are in terms
	terms  atomic.Pointer[terms]

	life    context.Context
	end     context.CancelFunc // of life
	gone    chan struct{}      // closed when the connection has ended for good
	after   <-chan struct{}    // closed when it may be dialled; nil: at any time
	defects throttle
	flights flights
	watches watches
	notices notices
	meter   *meter
	seen    atomic.Pointer[sight]         // nil: nothing yet
	mute    atomic.Pointer[upstream.Conn] // that has answered that it does not resolve tools
	asking  sync.Mutex                    // held while a question of the server is matched with a flight

	missed atomic.Bool // hosts were told what there is without it

	mu       sync.Mutex
	conn     *upstream.Conn
	dialling *dialling // nil if no attempt is being made
	pause    backoff
	closed   bool
	shut     bool // somebody has to log in

	known map[string][]json.RawMessage // pages of its lists as it answered last, by method; with set.mu

	logs verbosity
}

func newLinks(g *Gateway, hello upstream.Hello, owner *front) *links {
	set := &links{g: g, hello: hello, owner: owner, heard: &heard{}, ended: make(chan struct{}),
		lists: map[string]*catalog.List{}, misses: map[string]time.Time{}, listeners: map[*listener]bool{}, reading: make(chan struct{}, 1)}
	g.roster.enter(set)
	return set
}

// forget drops the cached list of a method, or all of them for "".
func (set *links) forget(method string) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if method == "" {
		clear(set.lists)
	}
	delete(set.lists, method)
}

// cached returns the merged list as it was read last; nil if it has to be read.
func (set *links) cached(kind catalog.Kind) *catalog.List {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.lists[kind.Method]
}

// list returns the merged list, from the cache if fresh is false and it is there.
func (set *links) list(ctx context.Context, kind catalog.Kind, fresh bool) (*catalog.List, error) {
	if !fresh {
		if l := set.cached(kind); l != nil {
			return l, nil
		}
		select {
		case set.reading <- struct{}{}: // many calls may come at once, and one list will do for all
			defer func() { <-set.reading }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if l := set.cached(kind); l != nil {
			return l, nil
		}
	}
	return set.read(ctx, kind)
}

// reread returns the merged list for who looked in vain for a name, which may be new. It is read again only if it was not
// for another such name just now, so that names that nobody has cost servers nothing.
func (set *links) reread(ctx context.Context, kind catalog.Kind) (*catalog.List, error) {
	select {
	case set.reading <- struct{}{}:
		defer func() { <-set.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Since(set.misses[kind.Method]) < missPause {
		if l := set.cached(kind); l != nil {
			return l, nil
		}
	}
	set.misses[kind.Method] = time.Now()
	return set.read(ctx, kind)
}

// read asks the servers for their lists, and keeps the merged one.
func (set *links) read(ctx context.Context, kind catalog.Kind) (*catalog.List, error) {
	servers := set.current.Load()
	sources, err := set.fetch(ctx, kind)
	if err != nil {
		return nil, err
	}
	l, defects := catalog.Build(kind, sources)
	for _, d := range defects {
		if err := set.g.defect(ctx, d.Server, kind.Method, d.Name, d.Defect); err != nil {
			return nil, err
		}
	}
	set.mu.Lock()
	if set.current.Load() == servers { // or it is a list of what was configured before
		set.lists[kind.Method] = l
	}
	set.mu.Unlock()
	return l, nil
}

// fetch asks every connected server that has the capability for all pages of its list. It fails if none can be reached. Of
// several servers, one that is not there or does not answer counts as offering what it did last: its calls can say what is
// wrong with it.
func (set *links) fetch(ctx context.Context, kind catalog.Kind) ([]catalog.Source, error) {
	if err := set.connect(ctx); err != nil {
		return nil, err
	}
	all := set.all()
	sources := make([]catalog.Source, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() { sources[i].Pages, errs[i] = l.pages(ctx, kind) })
	}
	wg.Wait()
	var out []catalog.Source
	for i, l := range all {
		if errs[i] != nil {
			set.g.log.Warn("listing", "server", l.server.Name, "method", kind.Method, "error", errs[i])
			if len(all) == 1 {
				return nil, errs[i]
			}
		}
		sources[i].Pages = set.remember(l, kind, sources[i].Pages, errs[i])
		if sources[i].Pages == nil {
			continue
		}
		sources[i].Server, sources[i].Trust, sources[i].Words = l.server.Name, l.trust(), set.g.opts.Words
		sources[i].Overlay = l.overlay()
		if err := set.g.pin(ctx, kind, &sources[i]); err != nil {
			return nil, err
		}
		out = append(out, sources[i])
	}
	return out, nil
}

// remember keeps the pages that a server answered, or returns the last ones if it did not.
func (set *links) remember(l *link, kind catalog.Kind, pages []json.RawMessage, err error) []json.RawMessage {
	set.mu.Lock()
	defer set.mu.Unlock()
	if err != nil {
		return l.known[kind.Method]
	}
	if l.known == nil {
		l.known = map[string][]json.RawMessage{}
	}
	l.known[kind.Method] = pages
	return pages
}

// pages returns every page of a server's list; none if the server does not offer it.
func (l *link) pages(ctx context.Context, kind catalog.Kind) ([]json.RawMessage, error) {
	conn := l.opened()
	if conn == nil {
		return nil, hosterror.At(l.server.Name, errLate)
	}
	ctx, cancel := context.WithTimeout(ctx, min(l.timeout(), listTimeout))
	defer cancel()
	pages, err := conn.List(ctx, kind.Method, capabilityOf(kind.Method))
	if err != nil {
		return nil, hosterror.At(l.server.Name, upstream.Explain(err))
	}
	return pages, nil
}

// capabilityOf returns the server capability that a method belongs to.
func capabilityOf(method string) string {
	switch method {
	case catalog.Prompts.Method:
		return "prompts"
	case catalog.Resources.Method, catalog.Templates.Method:
		return "resources"
	}
	return "tools"
}

// call sends a request to the server and waits for the answer, for as long as the server's timeout allows. The time that
// the host takes to answer the server's questions does not count. A server that does not keep up gets no more requests, so
// that its calls do not take the place of other servers'.
func (l *link) call(ctx context.Context, fl *flight, method string, params json.RawMessage) (*rpc.Message, error) {
	conn, err := l.connection(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	params, ok := l.flights.depart(fl, params, l.timeout(), cancel)
	if !ok {
		return nil, hosterror.At(l.server.Name, hosterror.New("{} requests to it are in flight already", hosterror.Number(maxFlights)))
	}
	defer l.flights.land(fl)
	l.meter.begin()
	defer l.meter.end()
	answer, err := conn.Call(ctx, method, params)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, hosterror.At(l.server.Name, upstream.Explain(err))
}

func (set *links) close() error {
	set.g.roster.leave(set)
	close(set.ended)
	var wg sync.WaitGroup
	all := set.all()
	errs := make([]error, len(all))
	for i, l := range all {
		wg.Go(func() { errs[i] = l.close() })
	}
	wg.Wait()
	set.processes.Wait()
	return errors.Join(errs...)
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
