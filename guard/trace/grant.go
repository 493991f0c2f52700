package trace

import (
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A grant is an approval that covers later calls with values that its request showed.
type grant struct {
	shown map[policy.Argument]bool
	names map[string]bool // that no schema declares
	until time.Time
	bits  int // that later calls may still carry
}

// Bounds of grants.
const (
	grantTime = 15 * time.Minute
	maxGrants = 256 // of a session
	grantBits = 64  // for the numbers of pages and the like, and for calls alone; more of them need a new approval
)

// Grants are the approvals of a session, by their scopes.
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
	bits := found.beside
	for _, v := range found.Values {
		switch {
		case g.shown[v.Argument]:
		case v.From.Only(provenance.User):
			bits += v.Bits
		case isCount(v.Text):
			bits += numberBits(v.Text)
		default:
			return false
		}
	}
	if bits = max(bits, callBits); bits > g.bits {
		return false
	}
	g.bits -= bits
	all[scope] = g
	return true
}

// add keeps an approval.
func (all grants) add(scope string, found *Finding, now time.Time) {
	if found.Cut {
		return
	}
	if len(all) >= maxGrants {
		clear(all)
	}
	shown := make(map[policy.Argument]bool, len(found.Values))
	for _, v := range found.Values {
		shown[v.Argument] = true
	}
	all[scope] = grant{shown, setOf(found.undeclared), now.Add(grantTime), grantBits}
}
