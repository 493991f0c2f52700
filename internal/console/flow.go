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
	"github.com/weir-mcp/weir/record"
)

// A picture shows where the data of an agent session came from, on the left, and where its calls went, on the right.
// The height of a stream grows with its events.
type picture struct {
	Width, Height int
	Left, Right   []stream
	Middle        box
	Shape         string // of the session's label
}

// A stream is one source or destination, and its edge to the session.
type stream struct {
	box
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

// A box is a rectangle.
type box struct{ X, Y, W, H int }

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

// A strand is one server's tool, prompt or resource in a session, with its figures.
type strand struct {
	subject         string
	rises           int
	decided, passed int // decisions, on calls and on results, and those that let them pass
	label           label.Label
}

// pictureOf draws a session: the subjects that raised its label are sources, of which the events tell the labels, and
// those that were decided on are destinations. A subject that is both is on both sides.
func pictureOf(s Session, flows []Flow, rises []Event) picture {
	strands := map[string]*strand{}
	of := func(subject string) *strand {
		if strands[subject] == nil {
			strands[subject] = &strand{subject: subject}
		}
		return strands[subject]
	}
	for _, f := range flows {
		switch {
		case f.Subject == "":
		case f.Kind == string(record.Label):
			of(f.Subject).rises += int(f.Count)
		case f.Kind == string(record.Decision):
			st := of(f.Subject)
			st.decided += int(f.Count)
			if f.Effect == "allow" || f.Effect == "warn" {
				st.passed += int(f.Count)
			}
		}
	}
	for _, e := range rises {
		if st := strands[clean(e.Server+"/"+e.Name)]; st != nil && e.Label != nil {
			st.label = label.Join(st.label, *e.Label)
		}
	}
	f := picture{Width: flowWidth, Shape: shapeOf(s.Label)}
	all := slices.SortedFunc(maps.Values(strands), func(a, b *strand) int {
		return cmp.Or(cmp.Compare(b.decided+b.rises, a.decided+a.rises), cmp.Compare(a.subject, b.subject))
	})
	f.place(s, all)
	return f
}

// clean returns a subject as the log can search for it, if it is short enough for a link.
func clean(subject string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(subject[:min(len(subject), maxSubject)], ""), "\x00", "")
}

// place lays out both columns and the session between them.
func (f *picture) place(s Session, all []*strand) {
	left, right := 10, 10
	for _, st := range all {
		if st.rises > 0 && len(f.Left) < maxStreams {
			f.Left = append(f.Left, streamAt(s, st, true, &left))
		}
		if st.decided > 0 && len(f.Right) < maxStreams {
			f.Right = append(f.Right, streamAt(s, st, false, &right))
		}
	}
	f.Height = max(left, right, 120)
	f.Middle = box{middleX, 10, boxWidth, f.Height - 20}
	f.join(f.Left, leftX+boxWidth, middleX, false)
	f.join(f.Right, middleX+boxWidth, rightX, true)
}

func streamAt(s Session, st *strand, source bool, y *int) stream {
	n, x, side, textX := st.decided, rightX, "start", rightX+boxWidth+8
	shape := shapeOf(s.Label)
	query := url.Values{"session": {s.Key}, "subject": {st.subject}}
	if source {
		n, x, side, textX, shape = st.rises, leftX, "end", leftX-8, shapeOf(st.label)
		query.Set("kind", "label")
	}
	h := min(maxStream, minStream+int(6*math.Log2(float64(n))))
	out := stream{
		box: box{x, *y, boxWidth, h}, Side: side, Shape: shape, TextX: textX, TextY: *y + h/2 + 4,
		Text: plain.Text(st.subject, 36), Link: "/events?" + query.Encode(),
	}
	if source {
		out.Says = fmt.Sprintf("%s: data of it entered %d times: %s", plain.Text(st.subject, 80), n, labelWords(st.label))
	} else {
		out.Stops = st.passed == 0
		out.Says = fmt.Sprintf("%s: %d decisions, %d of them let it pass", plain.Text(st.subject, 80), n, st.passed)
	}
	*y += h + streamGap
	return out
}

// join draws the edges of a column to the session, spread over its height.
func (f *picture) join(streams []stream, from, to int, outward bool) {
	total, y := 0, f.Middle.Y
	for _, s := range streams {
		total += s.H
	}
	for i := range streams {
		s := &streams[i]
		h := max(1, f.Middle.H*s.H/max(1, total))
		a, b := box{from, s.Y, 0, s.H}, box{to, y, 0, h}
		if outward {
			a, b = box{from, y, 0, h}, box{to, s.Y, 0, s.H}
		}
		s.Path = ribbon(a, b)
		y += h
	}
}

// ribbon returns the path of an edge from the right side of a to the left side of b.
func ribbon(a, b box) string {
	mid := (a.X + b.X) / 2
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d L%d %d C%d %d %d %d %d %d Z",
		a.X, a.Y, mid, a.Y, mid, b.Y, b.X, b.Y, b.X, b.Y+b.H, mid, b.Y+b.H, mid, a.Y+a.H, a.X, a.Y+a.H)
}
