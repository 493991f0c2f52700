package store_test

import (
	"sync"
	"testing"

	"github.com/weir-mcp/weir/store"
)

func TestBellWakesAll(t *testing.T) {
	var b store.Bell
	b.Ring() // for nobody
	first, second := b.Next(), b.Next()
	var woken sync.WaitGroup
	for _, c := range []<-chan struct{}{first, second} {
		woken.Go(func() { <-c })
	}
	b.Ring()
	woken.Wait()
	select {
	case <-b.Next():
		t.Error("who came later was woken too")
	default:
	}
}
