package backend

import (
	"sync/atomic"

	"github.com/weir-mcp/weir/label"
)

// A told is the label of the text that hosts were sent outside of results and definitions. Where nothing says which
// agent session reads it, it enters each of them with its next call. The zero told is ready to use.
type told struct{ by atomic.Pointer[label.Label] }

func (t *told) label() label.Label {
	if l := t.by.Load(); l != nil {
		return *l
	}
	return label.Label{}
}

// join adds a label.
func (t *told) join(l label.Label) {
	for {
		was := t.by.Load()
		now := l
		if was != nil {
			if was.Covers(l) {
				return
			}
			now = label.Join(*was, l)
		}
		if t.by.CompareAndSwap(was, &now) {
			return
		}
	}
}
