package contract

import (
	"fmt"
	"strings"
)

// String returns the possible values separated by commas, or "unknown".
func (v Values[T]) String() string {
	if !v.known {
		return "unknown"
	}
	return v.set.String()
}

// String returns the contract as one line of name=value pairs in a fixed order: equal contracts give equal text, and
// different contracts different text.
func (c Contract) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "readOnly=%v destructive=%v idempotent=%v openWorld=%v malicious=%v", c.ReadOnly, c.Destructive, c.Idempotent, c.OpenWorld, c.Malicious)
	fmt.Fprintf(&b, " requiresReview=%v trusted=%v", c.RequiresReview, c.Trusted)
	o := c.Output
	fmt.Fprintf(&b, " unsafeOutput=%v secret=%v private=%v sensitive=%v", o.Unsafe, o.Secret, o.Private, o.Sensitive)
	op := c.Operation
	fmt.Fprintf(&b, " aiProcessing=%v slow=%v costly=%v privileged=%v reversible=%v",
		op.AIProcessing, op.Slow, op.Costly, op.Privileged, op.Reversible)
	fmt.Fprintf(&b, " destination=%s accepts=%s outcomes=%s", c.Destinations.quoted(), c.Accepts.quoted(), c.Outcomes.quoted())
	fmt.Fprintf(&b, " source=%s returns=%s attribution=%q", c.Sources.quoted(), c.Returns.quoted(), c.Attribution.Slice())
	return b.String()
}

// quoted returns the text of String with each value quoted: a server chooses the scopes of regulated data, and a comma in
// one must not make two contracts look alike.
func (v Values[T]) quoted() string {
	if !v.known {
		return "unknown"
	}
	return fmt.Sprintf("%q", v.set.Slice())
}
