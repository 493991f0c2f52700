package console

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
)

// A Flow is the picture of where the data of an agent session came from, on the left, and where its calls went, on the right.
// The height of a flow grows with its events.
type Flow struct {
	Width, Height int
	Left, Right   []Stream
	Middle        Box
	Name          string // of the session
	Shape         string // of the session's label
}

// A Stream is one source or destination, and its edge to the session.
type Stream struct {
	Box
	Text  string // plain
	Side  string // where its text is anchored
	Shape string // of the label that flows
	Stops bool   // nothing of it was let through
	Path  string // of the edge, in SVG
	Link  string // to its events
	Says  string // for who cannot see it
	TextX int
	TextY int
}

// A Box is a rectangle.
type Box struct{ X, Y, W, H int }

// Measures of the picture.
const (
	flowWidth  = 960
	boxWidth   = 12
	leftX      = 300
	middleX    = 474
	rightX     = 648
	streamGap  = 8
	minStream  = 16
	maxStream  = 60
	maxStreams = 300 // on a side; the busiest

	maxSubject = 1024 // bytes
)

// A strand is what is known of one server's tool, prompt or resource in a session.
type strand struct {
	subject     string
	rises       int
	calls, went int
	label       label.Label
}

// flowOf draws the events of a session, of which those that rose its label are sources and those that decided on calls
// destinations. What is both is on both sides.
func flowOf(s Session, events []Event) Flow {
	strands := map[string]*strand{}
	for _, e := range events {
		if e.Server == "" {
			continue
		}
		subject := clean(e.Server + "/" + e.Name)
		st := strands[subject]
		if st == nil {
			st = &strand{subject: subject}
			strands[subject] = st
		}
		switch {
		case e.Kind == "label":
			st.rises++
			if e.Label != nil {
				st.label = label.Join(st.label, *e.Label)
			}
		case e.Kind == "decision" && e.Phase == "call":
			st.calls++
			if e.Effect == "allow" || e.Effect == "warn" {
				st.went++
			}
		}
	}
	f := Flow{Width: flowWidth, Name: plain.Text(s.Key, 40), Shape: shapeOf(s.Label)}
	all := slices.SortedFunc(maps.Values(strands), func(a, b *strand) int {
		return cmp.Or(cmp.Compare(b.calls+b.rises, a.calls+a.rises), cmp.Compare(a.subject, b.subject))
	})
	f.place(s, all)
	return f
}

// clean returns a subject as the log can search for it.
func clean(subject string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(subject[:min(len(subject), maxSubject)], ""), "\x00", "")
}

// place lays out both columns and the session between them.
func (f *Flow) place(s Session, all []*strand) {
	left, right := 10, 10
	for _, st := range all {
		if st.rises > 0 && len(f.Left) < maxStreams {
			f.Left = append(f.Left, streamAt(s, st, true, &left))
		}
		if st.calls > 0 && len(f.Right) < maxStreams {
			f.Right = append(f.Right, streamAt(s, st, false, &right))
		}
	}
	f.Height = max(left, right, 120)
	f.Middle = Box{middleX, 10, boxWidth, f.Height - 20}
	f.join(f.Left, leftX+boxWidth, middleX, false)
	f.join(f.Right, middleX+boxWidth, rightX, true)
}

func streamAt(s Session, st *strand, source bool, y *int) Stream {
	n, x, side, textX := st.calls, rightX, "start", rightX+boxWidth+8
	shape := shapeOf(s.Label)
	query := url.Values{"session": {s.Key}, "subject": {st.subject}}
	if source {
		n, x, side, textX, shape = st.rises, leftX, "end", leftX-8, shapeOf(st.label)
		query.Set("kind", "label")
	}
	h := min(maxStream, minStream+int(6*math.Log2(float64(n))))
	out := Stream{
		Box: Box{x, *y, boxWidth, h}, Side: side, Shape: shape, TextX: textX, TextY: *y + h/2 + 4,
		Text: plain.Text(st.subject, 36), Link: "/events?" + query.Encode(),
	}
	if source {
		out.Says = fmt.Sprintf("%s: data of it entered %d times: %s", plain.Text(st.subject, 80), n, labelWords(st.label))
	} else {
		out.Stops = st.went == 0
		out.Says = fmt.Sprintf("%s: %d calls, %d let through", plain.Text(st.subject, 80), n, st.went)
	}
	*y += h + streamGap
	return out
}

// join draws the edges of a column to the session, spread over its height.
func (f *Flow) join(streams []Stream, from, to int, outward bool) {
	total, y := 0, f.Middle.Y
	for _, s := range streams {
		total += s.H
	}
	for i := range streams {
		s := &streams[i]
		h := max(1, f.Middle.H*s.H/max(1, total))
		a, b := Box{from, s.Y, 0, s.H}, Box{to, y, 0, h}
		if outward {
			a, b = Box{from, y, 0, h}, Box{to, s.Y, 0, s.H}
		}
		s.Path = ribbon(a, b)
		y += h
	}
}

// ribbon returns the path of an edge from the right side of a to the left side of b.
func ribbon(a, b Box) string {
	mid := (a.X + b.X) / 2
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d L%d %d C%d %d %d %d %d %d Z",
		a.X, a.Y, mid, a.Y, mid, b.Y, b.X, b.Y, b.X, b.Y+b.H, mid, b.Y+b.H, mid, a.Y+a.H, a.X, a.Y+a.H)
}
