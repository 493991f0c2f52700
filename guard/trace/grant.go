package trace

import (
	"math/bits"
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A grant is an approval that covers later calls with values that its request showed.
type grant struct {
	shown map[policy.Argument]bool
	names map[string]bool // that no schema declares
	until time.Time
	bits  *int // that later calls may still carry, by all grants of one approval
	pages int  // that it covers beside the one of the call; zero: it is for one place
}

// Bounds of grants.
const (
	grantTime = 15 * time.Minute
	maxGrants = 256 // of a session
	grantBits = 64  // for the numbers of pages and the like, and for calls alone; more of them need a new approval
)

// Grants are the approvals of a session, by the parts of their scopes.
type grants map[string]grant

// cover reports whether an approval covers the call, and takes the bits of the call off it.
func (all grants) cover(scope string, found *Finding, now time.Time) bool {
	g, ok := all[scope]
	if !ok || !now.Before(g.until) || found.Cut {
		return false
	}
	for _, name := range found.undeclared {
		if !g.names[name] {
			return false
		}
	}
	choice := found.beside + bits.Len(uint(g.pages))
	for _, v := range found.Values {
		switch {
		case g.shown[v.Argument]:
		case g.pages > 0 && v.Destination:
			return false
		case v.From.Only(provenance.User):
			choice += v.Bits
		case isCount(v.Text):
			choice += numberBits(v.Text)
		default:
			return false
		}
	}
	if choice = max(choice, callBits); choice > *g.bits {
		return false
	}
	*g.bits -= choice
	return true
}

// add keeps an approval of a call, and of the same call for the pages that are listed beside its own.
func (all grants) add(scope Scope, found *Finding, now time.Time) {
	if found.Cut {
		return
	}
	if len(all) >= maxGrants {
		clear(all)
	}
	own, others := map[policy.Argument]bool{}, map[policy.Argument]bool{}
	for _, v := range found.Values {
		own[v.Argument] = true
		if !v.Destination {
			others[v.Argument] = true
		}
	}
	names, until, left := setOf(found.undeclared), now.Add(grantTime), grantBits
	all[scope.Place] = grant{own, names, until, &left, 0}
	if len(found.Listed) == 0 {
		return
	}
	for _, page := range found.Listed {
		others[policy.Argument{Path: found.target().Path, Text: page}] = true
	}
	all[scope.Any] = grant{others, names, until, &left, len(found.Listed)}
}
