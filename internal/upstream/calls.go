package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/rpc"
)

// rememberCalls is how many calls that were given up are remembered, to forgive their late answers.
const rememberCalls = 1024

// A call waits for its answer.
type call struct {
	method string
	came   chan answer // takes one
}

type answer struct {
	message *rpc.Message
	err     error
}

// The calls of a connection.
type calls struct {
	mu      sync.Mutex
	last    int64 // id of the last one
	waiting map[int64]*call
	given   *bounded.Map[int64, struct{}] // the last calls that were given up
	untold  map[int64]bool                // those that were given up, while the server is being told
}

// leaveUntold notes that the server has to be told of the end of a call.
func (c *calls) leaveUntold(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untold[id] = true
}

func (c *calls) told(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.untold, id)
}

// open returns the calls that wait for an answer or of whose end the server was not told yet, but for the handshake,
// which may not be cancelled.
func (c *calls) open() (ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids = slices.Collect(maps.Keys(c.untold))
	for id, pending := range c.waiting {
		if pending.method != "initialize" && pending.method != "server/discover" {
			ids = append(ids, id)
		}
	}
	return ids
}

// register makes a call known, so that its answer finds it.
func (c *calls) register(pending *call) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.waiting[c.last] = pending
	return c.last
}

// giveUp forgets a call that has no answer yet. It returns false if it has one.
func (c *calls) giveUp(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiting[id]; !ok {
		return false
	}
	delete(c.waiting, id)
	c.given.Set(id, struct{}{})
	return true
}

// settle gives the call with that id its answer, once. It returns the reason why it cannot: a reason for Defect, or ""
// if the call was given up.
func (c *calls) settle(id json.RawMessage, a answer) (ok bool, reason string) {
	pending, reason := c.take(id)
	if pending == nil {
		return false, reason
	}
	if a.err != nil {
		a.err = fmt.Errorf("calling %s: %w", pending.method, a.err)
	}
	pending.came <- a
	return true, ""
}

// take removes the call that an answer is for. It returns the reason if there is none, as settle does.
func (c *calls) take(id json.RawMessage) (*call, string) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil, UnknownAnswer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pending, ok := c.waiting[n]
	switch {
	case ok:
		delete(c.waiting, n)
		return pending, ""
	case n <= 0 || n > c.last:
		return nil, UnknownAnswer
	case c.given.Delete(n):
		return nil, ""
	}
	return nil, SecondAnswer
}

func formatID(id int64) json.RawMessage { return strconv.AppendInt(nil, id, 10) }
