package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/session"
)

const (
	annotated = `{"content":[],"_meta":{"annotations":{"returnMetadata":{"source":"internal","sensitivity":"financial"}}}}`
	bareError = `{"content":[],"isError":true}`
	bareTask  = `{"task":{"taskId":"1"}}`
	warning   = `{"content":[],"_meta":{"annotations":{"maliciousActivityHint":true}}}`
	private   = `{"content":[],"_meta":{"annotations":{"privateHint":true,"returnMetadata":{"source":"internal","sensitivity":"financial"}}}}`
	changing  = `{"content":[],"_meta":{"annotations":{"inputMetadata":{"outcomes":"irreversible"}}}}`
	received  = `{"content":[],"_meta":{"annotations":{"inputMetadata":{"sensitivity":"pii"}}}}`
	outside   = `{"content":[],"_meta":{"annotations":{"openWorldHint":true}}}`
)

// TestBreaches calls tools and tells of the breaches of their contracts.
func TestBreaches(t *testing.T) {
	many := func(result string) []string { return slices.Repeat([]string{result}, 8) }
	quiet := readSalaries
	quiet.Malicious = contract.No
	fetched := fetchPage // outsiders write the answers
	fetched.Outcomes, fetched.Accepts = contract.Possible(contract.Benign), contract.Possible[label.Class]()
	silent := fetched
	silent.Sources, silent.OpenWorld = contract.Contract{}.Sources, contract.Unknown
	set, err := overlay.Load("notes.yaml", []byte(notesOverlay))
	if err != nil {
		t.Fatal(err)
	}
	described := set.For(overlay.Server{Name: "notes"})
	for _, test := range []struct {
		name    string
		of      contract.Contract
		results []string
		want    string // tells of
	}{
		{"none", quiet, many(annotated), ""},
		{"outside of what is declared", quiet, []string{outside, annotated, outside}, "session _meta.annotations.openWorldHint, session _meta.annotations.openWorldHint"},
		{"a report of malicious content", quiet, []string{warning}, ""},
		{"annotations that were always there", quiet, append(many(annotated), okResult, okResult), "annotations _meta.annotations"},
		{"annotations that were there for a while", quiet, append(many(annotated)[1:], okResult), ""},
		{"annotations that were there sometimes", quiet, slices.Concat([]string{okResult}, many(annotated), []string{okResult}), ""},
		{"errors and tasks, which need none", quiet, append(many(annotated), bareError, bareTask, annotated), ""},
		{"data of outsiders", fetched, []string{private}, ""},
		{"data of outsiders, who may be missed", silent, []string{private}, ""},
		{"annotations of data of outsiders", fetched, append(many(private), okResult), ""},
		{"an effect beside data of outsiders", fetched, []string{changing}, "session _meta.annotations.inputMetadata.outcomes"},
		{"sensitive inputs, which the caller chose", fetched, []string{received}, ""},
		{"data that the operator says no outsider writes", silent, []string{private}, "session _meta.annotations.returnMetadata.sensitivity"},
		{"and after those", quiet, append(many(annotated), bareError, bareTask, okResult), "annotations _meta.annotations"},
	} {
		var told []string
		f := newFixture(t, func(o *guard.Options) {
			o.Breach = func(_ context.Context, c *guard.Call, b guard.Breach) error {
				kind, _, _ := strings.Cut(b.Occasion, " ")
				told = append(told, kind+" "+b.Where)
				return nil
			}
		})
		for _, result := range test.results {
			c := call("tool", test.of, `{}`)
			if c.Trust = contract.Trusted; strings.Contains(test.name, "the operator says") {
				c.Name, c.Overlay = "read", described.Tool("read")
			}
			f.run(t, c, result)
		}
		if got := strings.Join(told, ", "); got != test.want {
			t.Errorf("%s: told of %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOccasions tells breaches in one agent session from those in another.
func TestOccasions(t *testing.T) {
	seen := map[string]int{}
	f := newFixture(t, func(o *guard.Options) {
		o.Breach = func(_ context.Context, _ *guard.Call, b guard.Breach) error {
			seen[b.Occasion]++
			return nil
		}
	})
	for i := range 4 {
		c := call("tool", readSalaries, `{}`)
		c.Session = session.Ref{Key: fmt.Sprint("s", i%2), Principal: "ann"}
		f.run(t, c, outside)
	}
	if len(seen) != 2 {
		t.Errorf("%d occasions: %v", len(seen), seen)
	}
}

// TestUncountedBreachesAreNoResults withholds the answer whose breach cannot be counted.
func TestUncountedBreachesAreNoResults(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) {
		o.Breach = func(context.Context, *guard.Call, guard.Breach) error {
			return errors.New("the disk is gone")
		}
	})
	c := call("tool", readSalaries, `{}`)
	if o := f.run(t, c, outside); o.Allowed() || o.Err == nil {
		t.Errorf("outcome %+v", o)
	}
}
