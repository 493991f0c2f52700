package upstream

import "sync"

// A group is goroutines that are waited for at the end. The zero group is ready to use.
type group struct {
	mu   sync.Mutex
	over bool
	wg   sync.WaitGroup
}

// run runs f in a goroutine, unless wait was called.
func (g *group) run(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return false
	}
	g.wg.Go(f)
	return true
}

// wait waits for the goroutines, and lets none begin any more.
func (g *group) wait() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.wg.Wait()
}
