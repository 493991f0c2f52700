package analyze

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/policy"
)

// A Picture is a way to draw a report.
type Picture string

// The pictures.
const (
	SVG     Picture = "svg"
	DOT     Picture = "dot"
	Mermaid Picture = "mermaid"
)

// maxDrawn is how many tools of a column a picture shows.
const maxDrawn = 24

// An edge is an arrow of a picture: data that comes in, or that may go out.
type edge struct {
	tool  string
	what  string // "untrusted", "private" or "untrusted and private", or of a way out the verdict after both
	color string
}

// The colours of pictures. They differ in lightness too, so that they can be told apart without colour.
const (
	colorUntrusted = "#b45309"
	colorPrivate   = "#1d4ed8"
	colorBoth      = "#7e22ce"
	colorAllowed   = "#b91c1c"
	colorAsked     = "#a16207"
	colorBlocked   = "#15803d"
)

// Draw draws the report: tools that bring something in, the agent session, and tools by which data can leave.
func (r Report) Draw(w io.Writer, as Picture) error {
	in, out := r.edges()
	var b strings.Builder
	switch as {
	case SVG:
		drawSVG(&b, in, out)
	case DOT:
		drawDOT(&b, in, out)
	case Mermaid:
		drawMermaid(&b, in, out)
	default:
		return fmt.Errorf("unknown picture %q", as)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) edges() (in, out []edge) {
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Untrusted, r.Private))))
	for _, name := range names {
		untrusted, private := slices.Contains(r.Untrusted, name), slices.Contains(r.Private, name)
		switch {
		case untrusted && private:
			in = append(in, edge{name, "untrusted and private", colorBoth})
		case untrusted:
			in = append(in, edge{name, "untrusted", colorUntrusted})
		default:
			in = append(in, edge{name, "private", colorPrivate})
		}
	}
	for _, p := range r.Out {
		color := colorAllowed
		switch {
		case p.Both.Mildest == policy.Block:
			color = colorBlocked
		case p.Both.Mildest == policy.Ask:
			color = colorAsked
		}
		out = append(out, edge{p.Tool, p.Both.String(), color})
	}
	return short(in), short(out)
}

// short cuts a text to the width of the picture.
func short(edges []edge) []edge {
	if len(edges) <= maxDrawn {
		return edges
	}
	rest := edge{fmt.Sprintf("%d more", len(edges)-maxDrawn+1), "", "#6b7280"}
	return append(slices.Clone(edges[:maxDrawn-1]), rest)
}

// shown returns a name as pictures show it.
func shown(name string) string { return plain.Text(name, 40) }

func drawDOT(b *strings.Builder, in, out []edge) {
	quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(shown(s)) + `"` }
	b.WriteString("digraph weir {\n  rankdir=LR;\n  node [shape=box, fontname=sans];\n  session [label=\"agent session\", shape=ellipse];\n")
	for i, e := range in {
		fmt.Fprintf(b, "  in%d [label=%s];\n  in%d -> session [label=%s, color=%q];\n", i, quote(e.tool), i, quote(e.what), e.color)
	}
	for i, e := range out {
		fmt.Fprintf(b, "  out%d [label=%s];\n  session -> out%d [label=%s, color=%q];\n", i, quote(e.tool), i, quote(e.what), e.color)
	}
	b.WriteString("}\n")
}

func drawMermaid(b *strings.Builder, in, out []edge) {
	quote := func(s string) string { return `"` + html.EscapeString(shown(s)) + `"` }
	b.WriteString("flowchart LR\n  session([agent session])\n")
	for i, e := range in {
		fmt.Fprintf(b, "  in%d[%s] -->|%s| session\n", i, quote(e.tool), quote(e.what))
	}
	for i, e := range out {
		fmt.Fprintf(b, "  session -->|%s| out%d[%s]\n", quote(e.what), i, quote(e.tool))
	}
}

// The measures of an SVG picture, in pixels.
const (
	boxWidth  = 260
	boxHeight = 28
	boxGap    = 12
	middle    = 220 // between the columns
	margin    = 20
)

func drawSVG(b *strings.Builder, in, out []edge) {
	rows := max(len(in), len(out), 3)
	height := 2*margin + rows*(boxHeight+boxGap)
	width := 2*margin + 2*boxWidth + 2*middle
	centre, center := height/2, width/2
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="13">`+"\n",
		width, height, width, height)
	b.WriteString("<title>What can come into an agent session, and by what it can leave</title>\n")
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	column := func(edges []edge, left int, line func(y int) (x1, y1, x2, y2 int)) {
		top := (height - len(edges)*(boxHeight+boxGap)) / 2
		for i, e := range edges {
			y := top + i*(boxHeight+boxGap)
			x1, y1, x2, y2 := line(y + boxHeight/2)
			fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="%s" stroke-width="2"><title>%s</title></path>`+"\n",
				x1, y1, (x1+x2)/2, y1, (x1+x2)/2, y2, x2, y2, e.color, html.EscapeString(e.what))
			box(b, left, y, e)
		}
	}
	column(in, margin, func(y int) (int, int, int, int) { return margin + boxWidth, y, center - 60, centre })
	column(out, width-margin-boxWidth, func(y int) (int, int, int, int) { return center + 60, centre, width - margin - boxWidth, y })
	fmt.Fprintf(b, `<ellipse cx="%d" cy="%d" rx="70" ry="26" fill="#f3f4f6" stroke="#374151"/><text x="%d" y="%d" text-anchor="middle" fill="#111827">agent session</text>`+"\n",
		center, centre, center, centre+4)
	b.WriteString("</svg>\n")
}

func box(b *strings.Builder, x, y int, e edge) {
	fmt.Fprintf(b, `<g><rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="#ffffff" stroke="%s"/><text x="%d" y="%d" fill="#111827">%s</text><text x="%d" y="%d" text-anchor="end" font-size="11" fill="%s">%s</text></g>`+"\n",
		x, y, boxWidth, boxHeight, e.color, x+8, y+18, html.EscapeString(plain.Text(e.tool, 24)), x+boxWidth-8, y+18, e.color, html.EscapeString(e.what))
}
