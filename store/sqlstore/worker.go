package sqlstore

import (
	"sync"
	"time"
)

// A worker does tasks one after another, in a goroutine that waits a while for the next one: the stack of a new
// goroutine grows for each transaction. Whoever gives it tasks sees to it that they do not overlap; one that comes
// before the goroutine waits is done in another.
type worker struct {
	tasks   chan func()
	ended   chan struct{}
	running sync.WaitGroup
}

// idle is how long a goroutine waits for the next task.
const idle = time.Second

func newWorker() worker { return worker{tasks: make(chan func()), ended: make(chan struct{})} }

// do has a goroutine do a task.
func (w *worker) do(task func()) {
	select {
	case w.tasks <- task:
	default:
		w.running.Go(func() { w.run(task) })
	}
}

// run does a task, and others until there is none for a while.
func (w *worker) run(task func()) {
	wait := time.NewTimer(idle)
	defer wait.Stop()
	for {
		task()
		task = nil
		wait.Reset(idle)
		select {
		case task = <-w.tasks:
		case <-wait.C:
			return
		case <-w.ended:
			return
		}
	}
}

// end has the goroutine wait no more.
func (w *worker) end() { close(w.ended) }

// wait waits until no goroutine is left. It is for after the end, when nobody gives it tasks any more.
func (w *worker) wait() { w.running.Wait() }
