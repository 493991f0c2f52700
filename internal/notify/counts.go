package notify

import (
	"slices"
	"strings"
	"sync"
)

// The channels.
const (
	webhookChannel = "webhook"
	desktopChannel = "desktop"
)

// A Result is the outcome of a notification, or of an answer that came with it.
type Result string

// The results. Each notification has one of the first four; Retried, Answered and Refused come on top.
const (
	Delivered Result = "delivered"
	Moot      Result = "moot"     // the question was answered or expired before anybody was told
	Failed    Result = "failed"   // given up
	Dropped   Result = "dropped"  // too many waited
	Retried   Result = "retried"  // an attempt that failed and was followed by another
	Answered  Result = "answered" // an answer that counts
	Refused   Result = "refused"  // an answer that does not
)

// A Count is how often something became of notifications, since the start.
type Count struct {
	Channel string
	Result  Result
	N       int64
}

// counts are by channel and result.
type counts struct {
	mu sync.Mutex
	by map[Count]int64 // N is 0 in the keys
}

func (c *counts) add(channel string, r Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[Count{Channel: channel, Result: r}]++
}

// sorted returns the counts by channel and result.
func (c *counts) sorted() []Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Count
	for c, k := range c.by {
		c.N = k
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return strings.Compare(a.Channel+" "+string(a.Result), b.Channel+" "+string(b.Result))
	})
	return all
}
