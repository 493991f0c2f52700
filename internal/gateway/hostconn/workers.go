package hostconn

import "sync"

// maxIdle is how many goroutines of a crew wait for work that may never come.
const maxIdle = 32

// A workers runs functions in goroutines of its own and uses these again: the stack of a fresh one has to grow for
// every request anew. The zero crew is not ready; make one with newCrew.
type workers struct {
	work chan func()
	idle chan struct{} // holds a token for each goroutine that waits
	over chan struct{} // closed by end
	wg   sync.WaitGroup
}

func newWorkers() *workers {
	return &workers{work: make(chan func()), idle: make(chan struct{}, maxIdle), over: make(chan struct{})}
}

// run has f run, at once. After end only functions of the crew, and who holds it, may call it.
func (c *workers) run(f func()) {
	select {
	case c.work <- f:
	default:
		c.wg.Go(func() { c.serve(f) })
	}
}

// serve runs f and then further functions, unless enough others wait for that.
func (c *workers) serve(f func()) {
	for f != nil {
		f()
		select {
		case c.idle <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-c.work:
		case <-c.over:
			f = nil
		}
		<-c.idle
	}
}

// end lets the goroutines go that have nothing to do. It does not wait for the others: c.wg does.
func (c *workers) end() { close(c.over) }
