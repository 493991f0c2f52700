package gateway

import (
	"context"
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

// Notices are the notifications of a host that wait for one server to take them, in order. The zero notices are ready to
// use.
type notices struct {
	mu    sync.Mutex
	queue []*rpc.Message
	busy  bool // whether somebody sends them
}

// add enters a notification. It reports whether the caller has to see that they are sent.
func (n *notices) add(m *rpc.Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == maxUntaken {
		n.queue = n.queue[1:]
	}
	n.queue = append(n.queue, m)
	start := !n.busy
	n.busy = true
	return start
}

// next takes the oldest notification; if there is none, nobody sends any more.
func (n *notices) next() (*rpc.Message, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		n.queue, n.busy = nil, false
		return nil, false
	}
	m := n.queue[0]
	n.queue = n.queue[1:]
	return m, true
}

// notify sends a notification of the host to the server, and does not wait for that.
func (l *link) notify(m *rpc.Message) {
	if !l.notices.add(m) {
		return
	}
	_ = l.set.g.holds.run(func() { // if the gateway closes, nobody needs to know any more
		for m, ok := l.notices.next(); ok; m, ok = l.notices.next() {
			if err := l.sendNotice(m); err != nil {
				l.set.g.log.Warn("passing on a notification", "server", l.server.Name, "error", err)
			}
		}
	})
}

func (l *link) sendNotice(m *rpc.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
	defer cancel()
	conn := l.open()
	if conn == nil || conn.Modern() && m.Method == "notifications/roots/list_changed" {
		return nil // a server that comes later asks anew
	}
	return conn.Notify(ctx, m.Method, m.Params)
}
