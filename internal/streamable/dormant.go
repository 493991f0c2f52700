package streamable

import (
	"container/list"
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// Bounds of the sessions that sleep.
const (
	maxOpening   = 8 << 10 // bytes of the initialize of a session that can sleep
	maxDormant   = 10_000  // sessions
	dormantBytes = 8 << 20 // of their records
	dormantLife  = 24 * time.Hour
)

// wakingID is the id of the initialize that opens a session again. No client hears of it.
var wakingID = json.RawMessage(`"weir-wakes"`)

// A sleeper is all that is left of a session that was idle: enough to open it again under its id. So a conversation
// that pauses costs next to nothing, and its label, which belongs to the id, is not lost.
type sleeper struct {
	id, principal string
	opening       *rpc.Message
	until         time.Time
}

func (d *sleeper) size() int { return len(d.opening.Params) + 512 }

// dormant are the sessions that sleep. The oldest give way. The zero dormant is empty.
type dormant struct {
	by    map[string]*list.Element // of *sleeper
	order list.List                // the oldest in front
	size  int
}

// of takes out a session of that principal; nil if there is none.
func (d *dormant) of(id, principal string) *sleeper {
	e := d.by[id]
	if e == nil || e.Value.(*sleeper).principal != principal {
		return nil
	}
	return d.drop(e)
}

// drop takes a session out. It returns nil if that has slept too long.
func (d *dormant) drop(e *list.Element) *sleeper {
	s := d.order.Remove(e).(*sleeper)
	delete(d.by, s.id)
	d.size -= s.size()
	if !time.Now().Before(s.until) {
		return nil
	}
	return s
}

// add puts a session in.
func (d *dormant) add(s *sleeper) {
	if d.by == nil {
		d.by = map[string]*list.Element{}
	}
	d.by[s.id] = d.order.PushBack(s)
	d.size += s.size()
	for len(d.by) > maxDormant || d.size > dormantBytes || !time.Now().Before(d.order.Front().Value.(*sleeper).until) {
		d.drop(d.order.Front())
	}
}
