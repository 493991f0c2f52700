package gateway

import (
	"maps"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/pins"
)

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
	return &roster{servers: slices.Clone(servers),
		sets: map[*links]bool{}, meters: map[string]*meter{}, held: map[string]map[pins.Kind]map[string]pins.Held{}}
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
