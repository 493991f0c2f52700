package detect

import (
	"encoding/base64"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// anchorsOf returns all that a scanner looks for, each once; the terms of instructions, which have no checks, if they
// are wanted.
func anchorsOf(t *tables, terms bool) (all []string) {
	for i := range t.rules {
		r := &t.rules[i]
		for _, name := range r.Names {
			all = append(all, spellings(name, r.Class)...)
		}
		all = append(all, r.anchors...)
	}
	for i := range t.shapes {
		if s := &t.shapes[i]; s.anchor >= 0 {
			all = append(all, s.parts[s.anchor].literal)
		}
	}
	for i := range t.lexemes {
		if terms {
			all = append(all, t.lexemes[i].text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// separators stand between anchors in texts that are built to take long. The first parts strings of JSON.
var separators = []string{`","`, "", " ", "\n", "=", ": ", "a", "7", "-", "=a7", "/", "://a:b", "%41", "&amp;", `\u0041`, "\u200b"}

// repeated returns a text of a size of nothing but an anchor, with something between.
func repeated(anchor, between string, size int) ([]byte, Form) {
	text := strings.Repeat(anchor+between, size/len(anchor+between)+1)
	if between != separators[0] {
		return []byte(text), Plain
	}
	return []byte(`["` + strings.ReplaceAll(text, anchor, strings.ReplaceAll(anchor, `"`, `\"`)) + `"]`), JSON
}

// No text of one anchor takes more work than its size allows, whatever stands between.
func TestWorkIsLinear(t *testing.T) {
	const size, mostViews, mostOfChecks = 6 << 10, mostWork, 48
	w, worst, by := New().newScan(), 0, ""
	for _, anchor := range anchorsOf(w.s.tables, false) {
		for _, between := range separators {
			text, form := repeated(anchor, between, size)
			w.read(text, form, nil, Named{}, nil)
			if read := leastWork + mostWork*len(text) - w.work; read > mostViews*len(text) {
				t.Errorf("%q with %q between: %d bytes are read for %d", anchor, between, read, len(text))
			}
			checked := w.checked
			if form == JSON {
				checked -= leastChecks
			}
			if checked > worst*len(text) {
				worst, by = (checked+len(text)-1)/len(text), anchor+between
			}
		}
	}
	if worst > mostOfChecks {
		t.Errorf("%q repeated: checks take %d for each byte, want %d at most", by, worst, mostOfChecks)
	}
	t.Logf("checks take %d for each byte at most, of %q", worst, by)
}

// A large text takes the same work for one processor as for several.
func TestSharedWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const size = leastShared + chunk
	encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("AKIA and a text; ", size)))
	for _, text := range []string{strings.Repeat(`a line with "quotes" and an AKIA `, size)[:size], encoded[:size]} {
		doc, _ := json.Marshal([]string{"\n" + text})
		w := New().newScan()
		runtime.GOMAXPROCS(1)
		w.read(doc, JSON, nil, Named{}, nil)
		work, checked := w.work, w.checked
		runtime.GOMAXPROCS(2)
		w.read(doc, JSON, nil, Named{}, nil)
		if w.work != work || w.checked != checked {
			t.Errorf("%.20q…: %d and %d of work left, %d and %d checked", text, work, w.work, checked, w.checked)
		}
	}
}

// BenchmarkAnchors measures texts of each anchor with each separator, and reports the slowest.
func BenchmarkAnchors(b *testing.B) {
	const size = 1 << 16
	s := New()
	all := anchorsOf(s.tables, true)
	for _, between := range separators {
		b.Run(between, func(b *testing.B) {
			for b.Loop() {
				slowest, by := 0.0, ""
				for _, anchor := range all {
					text, form := repeated(anchor, between, size)
					least := time.Hour
					for range 3 {
						start := time.Now()
						s.Scan(text, form, nil)
						least = min(least, time.Since(start))
					}
					if took := float64(least.Nanoseconds()) / float64(len(text)); took > slowest {
						slowest, by = took, anchor
					}
				}
				b.ReportMetric(1000/slowest, "MB/s-of-the-slowest")
				b.Logf("slowest: %q, %.0f MB/s", by, 1000/slowest)
			}
		})
	}
}
