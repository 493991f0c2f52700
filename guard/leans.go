package guard

import (
	"slices"

	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/policy"
)

// leansOnState reports whether a call acts on things as they are by then, such as a draft that is sent by its id, a
// file that is attached, or commits that are pushed. An approval of it ends when anything is changed meanwhile that no
// person was asked about.
func leansOnState(in *decisionInput) bool {
	return in.facts.Phase == policy.OnCall && !in.request.asked && !in.facts.PlainRead() && !holdsAll(in)
}

// holdsAll reports whether a call is a message whose arguments hold all of it: each is known to be a text that goes,
// or a recipient. One argument that runs something or names a thing, or of which nobody says its part, makes the call
// lean on the state of that, whatever else it has.
func holdsAll(in *decisionInput) bool {
	r, roles := in.request, &in.facts.Roles
	return roles.Known && roles.Plain && !roles.Cut && len(r.resources.Reads) == 0 && r.Undeclared.Params == nil &&
		len(roles.Destinations) > 0 && len(roles.Contents) > 0 &&
		!slices.ContainsFunc(roles.Destinations, trace.IsThing) && !slices.ContainsFunc(roles.Contents, trace.IsNoText)
}

// namesThing reports whether a call leans on the state of a thing that its arguments may name as the place it goes to.
func namesThing(in *decisionInput) bool {
	roles := &in.facts.Roles
	return leansOnState(in) && (!roles.Known || slices.ContainsFunc(roles.Destinations, trace.IsThing))
}

// unshown reports whether a call has arguments by which an approver does not see all that it acts on.
func unshown(in *decisionInput) bool {
	roles := &in.facts.Roles
	return leansOnState(in) && roles.Known &&
		(slices.ContainsFunc(roles.Destinations, trace.IsThing) || slices.ContainsFunc(roles.Contents, trace.IsNoText))
}
