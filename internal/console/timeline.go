package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// A timeline shows the label of a session from its first to its last sign of life.
type timeline struct {
	Width, Height int
	Spans         []timeSpan
	From, To      time.Time
}

// A timeSpan is how long a label stayed as it was.
type timeSpan struct {
	X, W  int
	Shape string // of the label
	Says  string
	Link  string // to the event that it began with; "" if that is not known
}

const (
	timeWidth  = 960
	timeHeight = 28
	minSpan    = 4 // wide, so that one can choose it
)

// timelineOf draws how the label of a session changed, by events of which the oldest come first. What it held before
// the first of them is taken for nothing of note.
func timelineOf(s Session, changes []Event) timeline {
	t := timeline{Width: timeWidth, Height: timeHeight, From: s.Created, To: s.Seen}
	var l label.Label
	from, link := t.From, ""
	for _, e := range changes {
		if e.Label == nil {
			continue
		}
		before := shapeOf(l)
		if e.Kind == record.Declassify {
			l = lowered(l, *e.Label)
		} else {
			l = label.Join(l, *e.Label)
		}
		if shapeOf(l) == before {
			continue
		}
		at := e.Time
		if at.Before(from) {
			at = from // the clocks of the store and of who wrote the event may differ a little
		}
		t.add(from, at, before, link)
		from, link = at, fmt.Sprintf("/event?seq=%d", e.Seq)
		if t.To.Before(from) {
			t.To = from
		}
	}
	t.add(from, t.To, shapeOf(l), link)
	t.lay()
	return t
}

// lowered returns the part of a label that a person left, as far as it shows.
func lowered(l, drop label.Label) label.Label {
	l.Untrusted = l.Untrusted && !drop.Untrusted
	l.Private = l.Private && !drop.Private
	l.Malicious = l.Malicious && !drop.Malicious
	return l
}

// add notes a span, whose X and W are seconds until lay.
func (t *timeline) add(from, to time.Time, shape, link string) {
	says := fmt.Sprintf("%s, from %s to %s", shapeNames[shape], stamp(from), stamp(to))
	t.Spans = append(t.Spans, timeSpan{
		X: int(from.Sub(t.From).Seconds()), W: int(to.Sub(from).Seconds()), Shape: shape, Says: plain.Text(says, 120), Link: link,
	})
}

// lay gives each span its place. A short one is wider than its time.
func (t *timeline) lay() {
	if len(t.Spans) > timeWidth/minSpan/2 {
		t.Spans = slices.Clip(t.Spans[len(t.Spans)-timeWidth/minSpan/2:])
	}
	total := 0
	for _, s := range t.Spans {
		total += s.W
	}
	free, x := timeWidth-minSpan*len(t.Spans), 0
	for i := range t.Spans {
		s := &t.Spans[i]
		w := minSpan
		if total > 0 {
			w += free * s.W / total
		}
		if i == len(t.Spans)-1 {
			w = timeWidth - x
		}
		s.X, s.W = x, w
		x += w
	}
}

// shapeNames say the classes of labels in words.
var shapeNames = map[string]string{
	"clear": "nothing of note", "untrusted": "untrusted", "private": "private", "both": "untrusted and private", "malicious": "malicious",
}
