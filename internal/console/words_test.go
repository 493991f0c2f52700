package console

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// What a person filters by is shown without anything hidden, and means the same when it is sent again.
func TestFiltersSurviveTheirPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), `\`, "")
		if got := meant(shown(text)); got != text {
			t.Errorf("%q is shown as %q, which means %q", text, shown(text), got)
		}
		meant(rapid.StringMatching(`(\\u\{[0-9a-f]{0,8}\}|x)*`).Draw(t, "escapes")) // does not panic
	})
}

func TestTimeline(t *testing.T) {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	change := func(kind record.Kind, seconds int, l label.Label) Event {
		return Event{Seq: int64(seconds), Event: record.Event{Kind: kind, Time: at.Add(time.Duration(seconds) * time.Second), Label: &l}}
	}
	untrusted, private := label.Label{Untrusted: true}, label.Label{Private: true}
	for _, c := range []struct {
		name    string
		changes []Event
		want    string // the shapes
	}{
		{"nothing", nil, "clear"},
		{"one rise", []Event{change(record.Label, 10, private)}, "clear private"},
		{"a rise that changes nothing", []Event{change(record.Label, 10, private), change(record.Label, 20, private)}, "clear private"},
		{"two", []Event{change(record.Label, 10, private), change(record.Label, 20, untrusted)}, "clear private both"},
		{"a person lowers it", []Event{change(record.Label, 10, private), change(record.Declassify, 20, private)}, "clear private clear"},
		{"before the session began", []Event{change(record.Label, -10, private)}, "clear private"},
		{"after it was last seen", []Event{change(record.Label, 500, private)}, "clear private"},
		{"without a label", []Event{{Event: record.Event{Kind: record.Label}}}, "clear"},
		{"very many", manyChanges(change, untrusted), ""},
	} {
		tl := timelineOf(Session{Created: at, Seen: at.Add(100 * time.Second)}, c.changes)
		x, shapes := 0, []string{}
		for _, s := range tl.Spans {
			if s.X != x || s.W < 1 {
				t.Errorf("%s: a span of %d at %d, want it at %d", c.name, s.W, s.X, x)
			}
			x += s.W
			shapes = append(shapes, s.Shape)
		}
		if got := strings.Join(shapes, " "); x != timeWidth || c.want != "" && got != c.want {
			t.Errorf("%s: %s, %d wide; want %s, %d wide", c.name, got, x, c.want, timeWidth)
		}
	}
}

// manyChanges rises and lowers a label more often than there is room for.
func manyChanges(change func(record.Kind, int, label.Label) Event, l label.Label) (all []Event) {
	for i := range 500 {
		all = append(all, change(record.Label, 2*i, l), change(record.Declassify, 2*i+1, l))
	}
	return all
}
