package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
)

const (
	listTimeout = 30 * time.Second // for a server's list, if its own timeout is not shorter: all servers' calls may wait for it
	missPause   = 5 * time.Second  // between two reads of a list for names that it does not have
)

// A source of lists is the connections to the servers.
type source interface {
	All() []*Conn
	Connect(ctx context.Context) error
	generation() *[]*Conn // changes with the configuration
	listsChanged()        // tells hosts that every list may be another
}

// The lists of a set merge those of its servers.
type lists struct {
	env     *environment
	servers source
	heeding chan struct{} // holds a token while it is looked how far servers are trusted, so that nobody gets a list as of before

	reading chan struct{}        // holds a token while a list that is not in the cache is being read
	misses  map[string]time.Time // when a list was last read for a name that it did not have; guarded by the token

	mu sync.Mutex
	by map[string]*catalog.List // by list method

	omitted map[string]map[guard.Omitted]int // numbers of tools by server that the last list left out

	tools atomic.Pointer[detect.Tools] // of the list of tools that was read last, even if a server has said since that its own has changed
}

func newLists(e *environment, servers source) *lists {
	return &lists{
		env: e, servers: servers, heeding: make(chan struct{}, 1), reading: make(chan struct{}, 1),
		misses: map[string]time.Time{}, by: map[string]*catalog.List{},
	}
}

// drop drops the cached list of a method, or all of them for "".
func (s *lists) drop(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "" {
		clear(s.by)
	}
	delete(s.by, method)
}

// Cached returns the merged list as it was read last; nil if it has to be read.
func (s *lists) Cached(kind catalog.Kind) *catalog.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[kind.Method]
}

// Tools returns the tools that agents may call, as they were listed last; nil if nobody has listed them.
func (s *lists) Tools() *detect.Tools { return s.tools.Load() }

// begin waits for the token of a channel with room for one, or for ctx to end. The function gives it back.
func begin(ctx context.Context, token chan struct{}) (end func(), err error) {
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Heed looks how far the servers are trusted now. The lists are made anew if that has changed, and hosts are told: the
// contracts in them are those that count.
func (s *lists) Heed(ctx context.Context) error {
	end, err := begin(ctx, s.heeding)
	if err != nil {
		return err
	}
	defer end()
	var of []*Server
	var links []*Conn
	for _, l := range s.servers.All() {
		if server := l.of.Load(); server.Trust != contract.Untrusted {
			of, links = append(of, server), append(links, l)
		}
	}
	if of == nil || s.env.Conduct.Trust == nil {
		return nil
	}
	trust, err := s.env.Conduct.Trust(ctx, of...)
	if err != nil {
		return err
	}
	changed := false
	for i, l := range links {
		changed = l.heed(trust[i]) || changed
	}
	if changed {
		s.env.lowered.Add(1)
		s.drop("")
		_ = s.env.Run(s.servers.listsChanged) // in its own goroutine: a host may be slow to take it
	}
	return nil
}

// List returns the merged list, from the cache if fresh is false and it is there, with the contracts that count now.
func (s *lists) List(ctx context.Context, kind catalog.Kind, fresh bool) (*catalog.List, error) {
	if err := s.Heed(ctx); err != nil {
		return nil, err
	}
	if !fresh {
		if l := s.Cached(kind); l != nil {
			return l, nil
		}
		end, err := begin(ctx, s.reading) // many calls may come at once, and one list will do for all
		if err != nil {
			return nil, err
		}
		defer end()
		if l := s.Cached(kind); l != nil {
			return l, nil
		}
	}
	return s.read(ctx, kind)
}

// Reread returns the merged list after a name was not found, which may be new. It is read again only if it was not
// for another such name just now, so that unknown names cost servers nothing.
func (s *lists) Reread(ctx context.Context, kind catalog.Kind) (*catalog.List, error) {
	end, err := begin(ctx, s.reading)
	if err != nil {
		return nil, err
	}
	defer end()
	if time.Since(s.misses[kind.Method]) < missPause {
		if l := s.Cached(kind); l != nil {
			return l, nil
		}
	}
	s.misses[kind.Method] = time.Now()
	return s.read(ctx, kind)
}

// read asks the servers for their lists, and keeps the merged one.
func (s *lists) read(ctx context.Context, kind catalog.Kind) (*catalog.List, error) {
	servers, lowered := s.servers.generation(), s.env.lowered.Load()
	sources, err := s.fetch(ctx, kind)
	if err != nil {
		return nil, err
	}
	l, defects := catalog.Build(kind, sources)
	for _, d := range defects {
		if err := s.env.Defect(ctx, d.Server, kind.Method, d.Name, d.Defect); err != nil {
			return nil, err
		}
	}
	if kind.Method == catalog.Tools.Method {
		s.logOmitted(l)
	}
	if err := l.Show(s.env.Clean); err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Method, err)
	}
	s.mu.Lock()
	if s.servers.generation() == servers && s.env.lowered.Load() == lowered { // or it is of servers as they were before
		s.by[kind.Method] = l
		if named := l.Named(); named != nil {
			s.tools.Store(named)
		}
	}
	s.mu.Unlock()
	return l, nil
}

// logOmitted logs how many tools of each server hosts are not told of, where the last list was another.
func (s *lists) logOmitted(l *catalog.List) {
	counts := map[string]map[guard.Omitted]int{}
	for _, o := range l.Omitted() {
		if counts[o.Server] == nil {
			counts[o.Server] = map[guard.Omitted]int{}
		}
		counts[o.Server][o.By]++
	}
	s.mu.Lock()
	same := maps.EqualFunc(s.omitted, counts, maps.Equal[map[guard.Omitted]int, map[guard.Omitted]int])
	s.omitted = counts
	s.mu.Unlock()
	if same {
		return
	}
	for _, server := range slices.Sorted(maps.Keys(counts)) {
		of := counts[server]
		s.env.Log.Info("hosts are not told of some tools", "server", server, "expose", of[guard.NotExposed], "policy", of[guard.AlwaysBlocked],
			"hint", "weir tools --omitted lists them")
	}
}

// fetch asks every connected server that has the capability for all pages of its list. It fails if none can be reached.
// Of several servers, one that is not there or does not answer keeps the entries that it had last: its calls can say
// the reason.
func (s *lists) fetch(ctx context.Context, kind catalog.Kind) ([]catalog.Source, error) {
	if err := s.servers.Connect(ctx); err != nil {
		return nil, err
	}
	all := s.servers.All()
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
			s.env.Log.Warn("listing", "server", l.Name(), "method", kind.Method, "error", errs[i])
			if len(all) == 1 {
				return nil, errs[i]
			}
		}
		sources[i].Pages = s.remember(l, kind, sources[i].Pages, errs[i])
		if sources[i].Pages == nil {
			continue
		}
		sources[i].Server, sources[i].Trust, sources[i].Words = l.Name(), l.Trust(), s.env.Words
		sources[i].Overlay = l.Overlay()
		sources[i].Listing = s.env.Listing(l.Expose())
		if err := s.env.reviews.pin(ctx, l.of.Load(), kind, &sources[i]); err != nil {
			return nil, err
		}
		out = append(out, sources[i])
	}
	return out, s.env.tell()
}

// remember keeps the pages that a server answered, or returns the last ones if it did not.
func (s *lists) remember(c *Conn, kind catalog.Kind, pages []json.RawMessage, err error) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return c.known[kind.Method]
	}
	if c.known == nil {
		c.known = map[string][]json.RawMessage{}
	}
	c.known[kind.Method] = pages
	return pages
}
