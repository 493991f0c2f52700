package sqlstore

import (
	"testing"
	"testing/synctest"
)

// TestWorkerIsWaitedFor ends a worker with a task under way.
func TestWorkerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release, ended := newWorker(), make(chan struct{}), make(chan struct{})
		w.do(func() { <-release })
		w.end()
		go func() {
			w.wait()
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("it is not waited for")
		default:
		}
		close(release)
		<-ended
	})
}
