package guard

import (
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// computed is the finding of a label that tells of data which a program computed from hidden values: its length, its
// shape and whether it is there may be any text of theirs. It goes with the label to servers and resources, and to
// results that may hold the data. So an agent is told nothing of these but that they are hidden.
const computed = "urn:weir:computed"

// computedAlone are the findings that sessions do not have, and that go to no host and no server.
var computedAlone = label.SetOf(computed)

// opaque reports whether an agent may be told nothing of hidden data with a label.
func opaque(l label.Label) bool { return l.Findings.Has(computed) || l.Findings.Has(session.More) }

// asComputed returns the label of data that was computed from data with another.
func asComputed(l label.Label) label.Label {
	l.Findings = l.Findings.Union(computedAlone)
	return l
}
