package guard

import (
	"slices"
	"sync"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// Bounds of the origins that explain questions. They bound memory, not decisions: labels are kept by the store.
const (
	maxOriginSessions = 4096
	maxOrigins        = 64 // for each session
)

// An Origin is one source of data that an agent session has seen.
type Origin struct {
	URI   string      // mcp://server/name
	Label label.Label // of the data from there, without attribution
}

// origins remembers, for each agent session, where its label came from. It only explains: a forgotten origin makes a
// question less informative and no decision different.
type origins struct {
	mu       sync.Mutex
	sessions map[string][]Origin
	order    []string // keys, oldest first

	common *origins          // of the sessions of which shares says so; nil if there are none
	shares func(string) bool // by session key
}

// with returns the origins of the session with a key, among others.
func (o *origins) with(key string) *origins {
	for o.common != nil && o.shares(key) {
		o = o.common
	}
	return o
}

func (o *origins) add(ref session.Ref, origin Origin) {
	if o.common != nil { // else every call would pass one function more
		o = o.with(ref.Key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions == nil {
		o.sessions = map[string][]Origin{}
	}
	seen, ok := o.sessions[ref.Key]
	if !ok {
		o.order = append(o.order, ref.Key)
		seen = slices.Clone(o.sessions[ref.Parent])
	}
	o.sessions[ref.Key] = join(seen, origin)
	if len(o.order) > maxOriginSessions {
		delete(o.sessions, o.order[0])
		o.order = o.order[1:]
	}
}

func join(seen []Origin, origin Origin) []Origin {
	i := slices.IndexFunc(seen, func(s Origin) bool { return s.URI == origin.URI })
	switch {
	case i >= 0:
		if !seen[i].Label.Covers(origin.Label) {
			seen = slices.Clone(seen)
			seen[i].Label = label.Join(seen[i].Label, origin.Label)
		}
		return seen
	case origin.Label.IsZero() && len(seen) >= maxOrigins/2:
		return seen // which leaves room for origins that a person has to know
	case len(seen) >= maxOrigins:
		return seen
	}
	return append(slices.Clip(seen), origin)
}

// addContext notes the sources of a label that enters a session beside results.
func (o *origins) addContext(ref session.Ref, l label.Label) {
	for uri := range l.Attribution.All() {
		o.add(ref, Origin{URI: uri, Label: l.Taint()})
	}
}

// tainted returns the sources of untrusted and private data in an agent session.
func (o *origins) tainted(ref session.Ref) []Origin {
	return slices.DeleteFunc(o.of(ref), func(origin Origin) bool { return origin.Label.IsZero() })
}

func (o *origins) of(ref session.Ref) []Origin {
	if o.common != nil { // else every call would pass one function more
		o = o.with(ref.Key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, ok := o.sessions[ref.Key]
	if !ok {
		seen = o.sessions[ref.Parent]
	}
	return slices.Clone(seen)
}
