package guard

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/weir-mcp/weir/label"
)

// A server that got a hidden value may tell it later, in the result of any call. So the label of the value is kept for the server as a
// whole, as that of a resource that every call reads. Only an operator can say of both calls which resources they are about: a value that
// went to a named resource is in the results of calls that read that, and of calls of which nobody says which resources they read.
const (
	givenTo    = "weir://server/"
	givenNamed = "/named" // to resources that the operator names
	givenAny   = "/any"   // to anything
)

// give keeps the label of the hidden values in a call for its server, before they go out. A call that keeps nothing leaves none there.
func (t *resourceLabels) give(ctx context.Context, r *request) error {
	if len(r.Uses) == 0 || !r.Effective.Keeps() {
		return nil
	}
	l := withoutAlerts(r.actor()).Taint()
	if l.IsZero() {
		return nil
	}
	l.Attribution = label.SetOf(r.uri)
	name := givenTo + url.PathEscape(r.Server) + givenAny
	if t.writesNamed(r) && !r.Computed { // else that a resource has no label would tell that the call was not made
		name = givenTo + url.PathEscape(r.Server) + givenNamed
	}
	return t.writeOne(ctx, r, name, l)
}

// writesNamed reports whether the operator says to which resources a call writes.
func (t *resourceLabels) writesNamed(r *request) bool {
	return r.resources.Known && len(r.resources.Writes) > 0 && !slices.ContainsFunc(r.resources.Writes, func(uri string) bool {
		return resourceName(uri) == ""
	})
}

// given returns the label of the hidden values that the server of a call got earlier and that may be in its answer.
func (t *resourceLabels) given(ctx context.Context, r *request) (label.Label, error) {
	if t.taints == nil || r.Server == Own {
		return label.Label{}, nil
	}
	name := givenTo + url.PathEscape(r.Server)
	if r.resources.Known && len(r.resources.Reads) > 0 {
		name += givenAny
	}
	l, err := t.taints.Tainted(ctx, name)
	if err != nil {
		return l, fmt.Errorf("reading the label of values that a server got: %w", err)
	}
	return l, nil
}
