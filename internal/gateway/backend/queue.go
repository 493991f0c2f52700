package backend

import (
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// Bounds of the notifications of a host that a server has not taken yet. A host must not be held up by a server that
// does not read, so the oldest give way.
const (
	maxUntaken = 256
	noticeTime = 10 * time.Second // for one of them
)

// A queue holds the notifications of a host that wait for one server to take them, in order. The zero queue is ready to
// use.
type queue struct {
	mu      sync.Mutex
	waiting []*rpc.Message
	busy    bool // whether a task sends them
}

// add enters a notification. It reports whether the caller has to see that they are sent.
func (n *queue) add(m *rpc.Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) == maxUntaken {
		n.waiting = n.waiting[1:]
	}
	n.waiting = append(n.waiting, m)
	start := !n.busy
	n.busy = true
	return start
}

// next takes the oldest notification; if there is none, nothing is sent any more.
func (n *queue) next() (*rpc.Message, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) == 0 {
		n.waiting, n.busy = nil, false
		return nil, false
	}
	m := n.waiting[0]
	n.waiting = n.waiting[1:]
	return m, true
}
