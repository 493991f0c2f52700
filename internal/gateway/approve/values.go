package approve

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/provenance"
)

// Bounds of what a prompt says of where values come from.
const (
	maxValues  = 8
	maxSources = 2 // of a value
)

// values says where the arguments come from, the destinations first, and what the user wrote.
func (p *Prompt) values(q *guard.Question) {
	n := 0
	for _, destinations := range []bool{true, false} {
		for _, v := range q.Values {
			if v.Destination != destinations || v.From == 0 {
				continue
			}
			if n++; n <= maxValues {
				p.Values = append(p.Values, plain.Quote(v.Path, maxName)+goal(v)+": "+origin(v))
			}
		}
	}
	if n > maxValues {
		p.Values = append(p.Values, fmt.Sprintf("and %d more values", n-maxValues))
	}
	if q.Leak != "" {
		p.Values = append(p.Values, q.Leak)
	}
	if q.UserWords != "" {
		p.User = plain.Quote(q.UserWords, maxValue)
	}
}

func goal(v trace.Value) string {
	if v.Destination {
		return " (where it goes)"
	}
	return ""
}

// origin says in words where a value comes from.
func origin(v trace.Value) string {
	var parts []string
	add := func(kind provenance.Kinds, text string) {
		if v.From&kind != 0 {
			parts = append(parts, text+sources(v, kind))
		}
	}
	add(provenance.User, "the user's own words")
	add(provenance.Untrusted, "what anyone could have written")
	add(provenance.Private, "private data")
	if v.From&provenance.Private == 0 {
		add(provenance.Trusted, "a trusted source")
	}
	add(provenance.Novel, "the agent's own words, or reworded")
	return strings.Join(parts, "; ")
}

// sources names where pieces of the kind stand.
func sources(v trace.Value, kind provenance.Kinds) string {
	if kind == provenance.User || kind == provenance.Novel {
		return ""
	}
	seen := map[string]bool{}
	var names []string
	for _, m := range v.Matches {
		if m.Source.Kinds&kind != 0 && !seen[m.Source.URI] {
			seen[m.Source.URI] = true
			names = append(names, plain.Text(m.Source.URI, maxName))
		}
	}
	if len(names) > maxSources {
		names = append(names[:maxSources], fmt.Sprintf("%d more", len(names)-maxSources))
	}
	if len(names) == 0 {
		return ""
	}
	return ", " + strings.Join(names, " and ")
}
