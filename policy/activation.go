package policy

import (
	"bytes"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/label"
)

// An activation is the facts of one decision in CEL's terms. Each value is made when a rule first reads it and kept for
// the other rules. An activation belongs to one decision and one goroutine.
type activation struct {
	facts       Facts
	assumed     contract.Contract  // annotations, where something can be assumed
	annotations *contract.Contract // nothing that can be assumed is unknown in it
	values      []ref.Val          // by index in facts, nil until read
}

// of makes it an activation of the facts.
func (a *activation) of(f *Facts) *activation {
	a.facts = *f
	a.annotations = &a.facts.Tool.Annotations
	if !assumed(a.annotations) {
		a.assumed = a.annotations.Assume()
		a.annotations = &a.assumed
	}
	return a
}

// assumed reports whether [contract.Contract.Assume] would leave the members that decisions depend on as they are.
func assumed(c *contract.Contract) bool {
	return c.ReadOnly != contract.Unknown && c.Destructive != contract.Unknown && c.Idempotent != contract.Unknown &&
		c.OpenWorld != contract.Unknown && known(c.Destinations) && known(c.Outcomes) &&
		(known(c.Sources) || c.OpenWorld == contract.No)
}

func (a *activation) session() *label.Label { return &a.facts.Session.Label }

// call returns the facts of the arguments, traced if nobody has read them yet.
func (a *activation) call() *CallFacts {
	if trace := a.facts.Trace; trace != nil {
		a.facts.Call, a.facts.Trace = trace(), nil
	}
	return &a.facts.Call
}

// plainRead reports whether the call changes nothing, by the contract that counts: the word of a server that nobody
// vouches for makes no call a plain read.
func (a *activation) plainRead() bool { return a.facts.PlainRead() }

// byAgent is [Facts.byAgent] for the vocabulary.
func (a *activation) byAgent() bool { return a.facts.byAgent() }

// boundedText returns the text, or an error if it is longer than rules may read.
func boundedText(s string) ref.Val {
	if len(s) > expression.MaxText {
		return types.NewErr("a text of %d bytes is longer than the %d that rules may read", len(s), expression.MaxText)
	}
	return types.String(s)
}

// list returns the set as a sorted list, or an error if it is larger than rules may read.
func list[T ~string](set label.Set[T]) ref.Val {
	if set.Len() > expression.MaxTexts {
		return types.NewErr("a set of %d elements is larger than the %d that rules may read", set.Len(), expression.MaxTexts)
	}
	items := make([]string, 0, set.Len())
	for item := range set.All() {
		if len(item) > expression.MaxText {
			return types.NewErr("an element of %d bytes is longer than the %d that rules may read", len(item), expression.MaxText)
		}
		items = append(items, string(item))
	}
	return types.NewStringList(types.DefaultTypeAdapter, items)
}

// hasMembers reports whether data is anything but nothing, null or an object without members.
func hasMembers(data []byte) bool {
	const space = " \t\r\n"
	if len(data) == 0 {
		return false
	}
	inside, isObject := bytes.CutPrefix(bytes.Trim(data, space), []byte("{"))
	if !isObject {
		return string(inside) != "null"
	}
	return string(bytes.TrimLeft(inside, space)) != "}"
}

func known[T ~string](v contract.Values[T]) bool {
	_, ok := v.Known()
	return ok
}

// egress reports whether an outsider may learn of the call: the agent chose it, the contract that counts does not
// rule out that its input becomes public, and it tells something. A change tells something whatever its arguments are,
// and so does a choice among the tools and resources of a server that nobody vouches for; any other read tells its
// arguments. Where a contract states where the input is kept, that settles who learns it (SEP-1913, Destination); one
// that says that it is kept nowhere settles that in a closed world alone.
func (a *activation) egress() bool {
	return a.facts.goesOut() && a.annotations.Discloses()
}

// crosses reports whether a secret may get from one server to another: the session holds credentials, and the agent
// gives the call arguments that may hold those of another server, or has told its server too much by many calls. A read
// that keeps nothing of them takes nothing over.
func (a *activation) crosses() bool {
	if !a.annotations.Keeps() || !a.facts.byAgent() || !a.session().Sensitivity.Has(label.Credentials) {
		return false
	}
	if call := a.call(); call.Traced {
		return call.Crosses
	}
	return hasMembers(a.facts.Arguments)
}

// legs returns which of the three things have come together in the session that an attacker needs.
func (a *activation) legs() label.Set[string] {
	var legs []string
	for i, leg := range []bool{a.session().Private, a.session().Untrusted, a.facts.Session.Sent > 0} {
		if leg {
			legs = append(legs, legNames[i])
		}
	}
	return label.SetOf(legs...)
}
