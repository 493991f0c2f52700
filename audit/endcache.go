package audit

import (
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// An EndCache remembers nodes of [Ends] by their hashes. It may be used concurrently; nil remembers nothing.
type EndCache struct {
	mu    sync.Mutex
	nodes map[int64]cachedNode
	bytes int
}

type cachedNode struct {
	hash tlog.Hash
	body []byte
}

// maxEndCache is how many bytes of nodes are remembered.
const maxEndCache = 8 << 20

func (c *EndCache) get(n int64, want tlog.Hash) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.nodes[n]
	return found.body, ok && found.hash == want
}

func (c *EndCache) put(n int64, hash tlog.Hash, body []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil || c.bytes > maxEndCache {
		c.nodes, c.bytes = map[int64]cachedNode{}, 0
	}
	c.bytes += len(body) - len(c.nodes[n].body)
	c.nodes[n] = cachedNode{hash, body}
}
