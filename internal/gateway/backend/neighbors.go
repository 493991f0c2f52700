package backend

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/label"
)

// Neighbors are the sets of all gateways that one host has side by side: text of the server of any may be known to each
// of its agents. Those that have left count as they did last, until their servers come again. The zero Neighbors are
// ready to use, and safe for concurrent use.
type Neighbors struct {
	heard guard.Heard

	mu   sync.Mutex
	sets map[*Set]bool
	left map[served]label.Label // of the definitions of servers that have left
}

// A served is a server by its name, and how it is reached.
type served struct{ name, reached string }

// Recall joins the label of text that the host was shown in another process.
func (n *Neighbors) Recall(l label.Label) { n.heard.Join(l) }

func (n *Neighbors) enter(set *Set) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sets == nil {
		n.sets, n.left = map[*Set]bool{}, map[served]label.Label{}
	}
	n.sets[set] = true
	for _, c := range set.All() {
		delete(n.left, served{c.Name(), c.Way().Reached})
	}
}

func (n *Neighbors) leave(set *Set) {
	defined := set.defined()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sets, set)
	maps.Copy(n.left, defined)
}

// all returns the sets that have not left.
func (n *Neighbors) all() []*Set {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.sets))
}

// definitions returns the label of the definitions of all servers, those that have left among them.
func (n *Neighbors) definitions() (l label.Label) {
	n.mu.Lock()
	sets := slices.Collect(maps.Keys(n.sets))
	for _, left := range n.left {
		l = label.Join(l, left)
	}
	n.mu.Unlock()
	for _, set := range sets {
		l = label.Join(l, set.definitions())
	}
	return l
}

// Shown returns the label of everything that the hosts of the set, and of its neighbors, may have been shown outside of
// results. It does not depend on which host listed which server: definitions are pinned before any host sees them, and
// the pins outlive connections and processes.
func (set *Set) Shown() label.Label {
	if n := set.Neighbors; n != nil {
		return label.Join(set.heard.Label(), n.definitions())
	}
	return label.Join(set.heard.Label(), set.definitions())
}

// definitions returns the label of the definitions of the set's servers.
func (set *Set) definitions() (all label.Label) {
	for _, l := range set.defined() {
		all = label.Join(all, l)
	}
	return all
}

// defined returns the labels of the definitions of those servers for whose definitions nobody vouches.
func (set *Set) defined() map[served]label.Label {
	var counts map[string]pins.Counts
	var err error
	if kept := set.Pins; kept != nil {
		if counts, err = kept.Unreviewed(); err != nil {
			set.Log.Error("reading pins", "error", err)
		}
	}
	all := map[served]label.Label{}
	for _, c := range set.All() {
		if err != nil || catalog.Unvouched(counts, c.Name(), c.Trust()) {
			all[served{c.Name(), c.Way().Reached}] = guard.Definitions(c.Name())
		}
	}
	return all
}

// hear joins the label of a text that hosts are about to be sent outside of results and definitions.
func (g *group) hear(l label.Label) error {
	g.heard.Join(l)
	return g.tell()
}

// neighborTime is how long a neighbor that takes no labels, such as a wrap that was stopped, may delay a message.
const neighborTime = 50 * time.Millisecond

// tell has the label of all that the host may be shown kept, before it is, for every gateway of the host. An error says
// that it is not kept for this one.
func (e *environment) tell() (err error) {
	if e.Neighbors == nil {
		return nil
	}
	var others []<-chan struct{}
	for _, set := range e.Neighbors.all() {
		switch {
		case set.environment == e:
			err = errors.Join(err, set.keep())
		case !set.isKept():
			others = append(others, set.beside.do(set))
		}
	}
	if others == nil {
		return err
	}
	late := time.NewTimer(neighborTime)
	defer late.Stop()
	for _, done := range others {
		select {
		case <-done:
		case <-late.C:
			return err
		}
	}
	return err
}

// An errand has labels of a set kept for its neighbors, one after the other. One that waits has the newest label kept,
// so there is never more than one.
type errand struct {
	mu      sync.Mutex
	running bool
	waits   chan struct{} // closed when the label is kept, or cannot be; nil: none waits
}

// do has the label kept, and returns a channel that is closed then.
func (r *errand) do(set *Set) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits == nil {
		r.waits = make(chan struct{})
	}
	done := r.waits
	if !r.running && set.Run(func() { r.run(set) }) == nil {
		r.running = true
	}
	if !r.running { // the gateway closes
		close(r.waits)
		r.waits = nil
	}
	return done
}

func (r *errand) run(set *Set) {
	for {
		r.mu.Lock()
		done := r.waits
		r.waits, r.running = nil, done != nil
		r.mu.Unlock()
		if done == nil {
			return
		}
		if err := set.keep(); err != nil {
			set.Log.Warn("a label of text that a neighbor's host was shown is not kept", "error", err)
		}
		close(done)
	}
}

// isKept reports whether the label of the set is kept as it is now. It waits for nobody.
func (set *Set) isKept() bool {
	if set.Keep == nil {
		return true
	}
	if !set.keeping.TryLock() {
		return false
	}
	defer set.keeping.Unlock()
	return set.Shown().Equal(set.kept)
}

// keep has the label of the set kept, if it has changed.
func (set *Set) keep() error {
	if set.Keep == nil {
		return nil
	}
	set.keeping.Lock()
	defer set.keeping.Unlock()
	shown := set.Shown()
	if shown.Equal(set.kept) {
		return nil
	}
	if err := set.Keep(shown); err != nil {
		return err
	}
	set.kept = shown
	return nil
}
