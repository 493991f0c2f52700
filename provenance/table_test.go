package provenance

import (
	"fmt"
	"testing"
)

// TestCommonWords holds that words which stand in many texts of every kind push nothing out of the table.
func TestCommonWords(t *testing.T) {
	x := New(Options{})
	kinds := []Kinds{Trusted, Trusted | Private, Untrusted, Untrusted | Private}
	name := func(kind, i int) string { return fmt.Sprintf("%d%02dvalue", kind, i) }
	for i := range 20 {
		for k, kind := range kinds {
			x.Add(Source{URI: fmt.Sprint(k), Kinds: kind}, "the subject from customers report: "+name(k, i))
		}
	}
	if !x.Complete() {
		t.Error("something was forgotten")
	}
	for k, kind := range kinds {
		for i := range 20 {
			if got := x.Trace(name(k, i)); got.From != kind {
				t.Errorf("%s: %s, want %s", name(k, i), got.From, kind)
			}
		}
	}
}

// TestCommonBeginnings holds that a table with room to grow forgets nothing, though hundreds of beginnings have all the
// places of each kind that are kept.
func TestCommonBeginnings(t *testing.T) {
	at, n := table{most: 1 << 18}, uint32(0)
	for i := range uint64(300) {
		for _, kind := range []Kinds{Trusted, Trusted | Private, Untrusted, Untrusted | Private} {
			for range alike {
				n++
				at.take([]place{{hashWord(i, 7), n}}, kind)
			}
		}
		for k := range uint64(300) {
			n++
			at.take([]place{{hashGram(i<<32 | k<<8), n}}, Untrusted)
		}
	}
	if at.lost {
		t.Errorf("of %d entries, some are lost in %d buckets", at.used, len(at.buckets))
	}
}
