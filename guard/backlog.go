package guard

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
)

// A backlog is how many bytes of answers are kept for digests that are not made yet.
type backlog struct{ bytes atomic.Int64 }

// maxBacklog bounds a backlog, in bytes.
const maxBacklog = 16 << 20

// take makes room for an answer, if there is some.
func (b *backlog) take(size int64) bool {
	if b.bytes.Add(size) <= maxBacklog {
		return true
	}
	b.bytes.Add(-size)
	return false
}

// digest gives the event of a decision the digest of the answer, at the latest when complete is called. Of an answer
// that nobody changes any more it is made then, after the answer has gone, since it takes longer than the check of a
// message. The label alone is written into the answer before, over its end.
func (b *backlog) digest(e *record.Event, key salt, answer []byte, unchanged bool) (complete func()) {
	size := int64(len(answer))
	if !unchanged || !b.take(size) {
		e.Content.Answer = key.digest(answer)
		return func() {}
	}
	head := rawjson.Open(answer)
	if head == nil {
		head = answer // no label is written
	}
	tail := bytes.Clone(answer[len(head):])
	return sync.OnceFunc(func() {
		e.Content.Answer = key.digest(head, tail)
		b.bytes.Add(-size)
	})
}
