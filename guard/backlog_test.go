package guard

import (
	"testing"

	"github.com/weir-mcp/weir/record"
)

// TestBacklog holds that answers are kept for their digests up to a bound, and no longer than until these are made,
// and that answers of others are not kept at all.
func TestBacklog(t *testing.T) {
	var b backlog
	half := make([]byte, maxBacklog/2)
	next := func(answer []byte, unchanged bool) (e *record.Event, complete func()) {
		e = &record.Event{Content: &record.Content{}}
		return e, b.digest(e, salt{}, answer, unchanged)
	}
	kept := func(name string, e *record.Event, want bool) {
		t.Helper()
		if got := e.Content.Answer == ""; got != want {
			t.Errorf("%s: kept %v, want %v", name, got, want)
		}
	}
	first, complete := next(half, true)
	kept("the first half", first, true)
	second, completeSecond := next(half, true)
	kept("the second half", second, true)
	e, _ := next([]byte(`{}`), true)
	kept("one beyond the bound", e, false)
	complete()
	kept("the first half, completed", first, false)
	digest := first.Content.Answer
	first.Content.Answer = "as it was"
	complete()
	if first.Content.Answer != "as it was" {
		t.Error("a digest is made twice")
	}
	e, _ = next([]byte(`{}`), true)
	kept("one more", e, true)
	if completeSecond(); second.Content.Answer != digest {
		t.Error("the same answer has another digest")
	}
	if e, _ = next([]byte(`{}`), false); e.Content.Answer != (salt{}).digest([]byte(`{}`)) {
		t.Error("an answer of others is kept")
	}
	if e, _ = next(make([]byte, maxBacklog+1), true); e.Content.Answer == "" {
		t.Error("an answer beyond the bound is kept")
	}
	if got := b.bytes.Load(); got != 2 {
		t.Errorf("%d bytes are kept, of the one answer of 2", got)
	}
}
