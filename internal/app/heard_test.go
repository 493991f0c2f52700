package app

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
)

// TestAbridged holds that no label is too long for a wrap to keep, and that the one that it keeps decides no less
// strictly: it is the same, or parts of it are the worst of their kind.
func TestAbridged(t *testing.T) {
	const most = 600
	rapid.Check(t, func(t *rapid.T) {
		many := func(of string) (all []string) {
			for i := range rapid.SampledFrom([]int{0, 1, 40}).Draw(t, of) {
				all = append(all, fmt.Sprintf("%s %d", of, i))
			}
			return all
		}
		var l label.Label
		l.Untrusted, l.Private = rapid.Bool().Draw(t, "untrusted"), rapid.Bool().Draw(t, "private")
		l.Attribution, l.Findings = label.SetOf(many("mcp://server")...), label.SetOf(many("finding")...)
		for _, class := range many("regulated:scope") {
			l.Sensitivity = l.Sensitivity.Union(label.SetOf(label.Class(class)))
		}
		if who := many("ann@example.com"); who != nil {
			l.Readers = label.OnlyReaders(who...)
		}
		text, err := abridged(l, most)
		if err != nil || len(text) > most {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		var kept label.Label
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		whole, _ := json.Marshal(l)
		switch {
		case len(whole) <= most && !kept.Equal(l):
			t.Errorf("%s became %s", whole, text)
		case l.Untrusted && !kept.Untrusted, l.Private && !kept.Private, l.Findings.Len() > 0 && !kept.Malicious && !kept.Findings.Contains(l.Findings),
			l.Sensitivity.Len() > 0 && kept.Sensitivity.Len() == 0, !kept.Readers.Covers(l.Readers), kept.Attribution.Len() == 0 && l.Attribution.Len() > 0:
			t.Errorf("%.2000s became %.2000s", whole, text)
		}
	})
}
