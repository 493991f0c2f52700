package demo

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// site is the web of a world: a few hosts behind one loopback address, told apart by the Host header.
type site struct {
	listener net.Listener
	server   *http.Server
	pages    map[string]string // host and path → file in the seed; the collector answers to anything
	done     chan error

	mu     sync.Mutex
	visits []visit
}

// collector is the host that belongs to the attacker.
const collector = "collector.example"

// A visit is one request that arrived.
type visit struct {
	host  string
	asked string // the path and the values of the query, unescaped
}

func openSite() (*site, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{
		listener: listener,
		pages: map[string]string{
			"news.example":       "seed/site/news.html",
			"tips.example":       "seed/site/tips.html",
			"recipes.example":    "seed/site/recipes.html",
			"free-fonts.example": "seed/site/fonts.html",
		},
		done: make(chan error, 1),
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// address returns where the site listens.
func (s *site) address() string { return s.listener.Addr().String() }

// hosts returns the names that the site answers to.
func (s *site) hosts() []string { return append(slices.Sorted(maps.Keys(s.pages)), collector) }

// ServeHTTP writes every request down and answers it with the one page of its host.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := visit{r.Host, r.URL.Path}
	for _, values := range r.URL.Query() {
		for _, value := range values {
			v.asked += " " + value
		}
	}
	s.mu.Lock()
	s.visits = append(s.visits, v)
	s.mu.Unlock()

	file, ok := s.pages[r.Host]
	if !ok {
		_, _ = w.Write([]byte("thank you\n")) // the collector's answer to everything
		return
	}
	page, err := seed.ReadFile(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // a client that left gets nothing
}

// seen returns the requests so far.
func (s *site) seen() []visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.visits)
}

// close shuts the site at once and waits for it.
func (s *site) close() error {
	err := s.server.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
