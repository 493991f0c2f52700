package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// The sizes that the cost of a rule is estimated with. They are enforced: a fact that is larger cannot be read, and a
// rule that reads it counts as matched.
const (
	maxText      = 2 << 10  // bytes of a name, an id or an element of a set
	maxTexts     = 4 << 10  // elements of a set
	maxArguments = 64 << 10 // bytes of call.arguments
)

// An activation is the facts of one decision in CEL's terms. Each value is made when a rule first reads it and kept for
// the other rules. An activation belongs to one decision and one goroutine.
type activation struct {
	facts       *Facts
	annotations *contract.Contract // nothing that can be assumed is unknown in it
	values      []ref.Val          // by index in facts, nil until read
}

func newActivation(f *Facts) *activation {
	a := &activation{facts: f, annotations: &f.Tool.Annotations, values: make([]ref.Val, len(facts))}
	if !assumed(a.annotations) {
		c := a.annotations.Assume()
		a.annotations = &c
	}
	return a
}

// assumed reports whether [contract.Contract.Assume] would leave what decisions depend on as it is.
func assumed(c *contract.Contract) bool {
	return c.ReadOnly != contract.Unknown && c.Destructive != contract.Unknown && c.Idempotent != contract.Unknown &&
		c.OpenWorld != contract.Unknown && known(c.Destinations) && known(c.Outcomes) &&
		(known(c.Sources) || c.OpenWorld == contract.No)
}

// ResolveName returns the value of a fact, or of has(fact).
func (a *activation) ResolveName(name string) (any, bool) {
	if i, ok := factIndex[name]; ok {
		return a.value(i), true
	}
	if i, ok := presenceIndex(name); ok {
		return types.Bool(facts[i].has(a)), true
	}
	return nil, false
}

// Parent returns nil: there is nothing outside the facts.
func (a *activation) Parent() cel.Activation { return nil }

func (a *activation) value(i int) ref.Val {
	if v := a.values[i]; v != nil {
		return v
	}
	f := &facts[i]
	v := ref.Val(nil)
	if f.result && a.facts.Response == nil {
		v = types.NewErr("%s is not known: there is no result", f.name)
	} else {
		v = f.get(a)
	}
	a.values[i] = v
	return v
}

// presenceIndex finds the fact of which name is the presence.
func presenceIndex(name string) (int, bool) {
	const open, closing = "has(", ")"
	if len(name) <= len(open)+len(closing) || name[:len(open)] != open {
		return 0, false
	}
	i, ok := factIndex[name[len(open):len(name)-len(closing)]]
	return i, ok
}

func (a *activation) session() *label.Label  { return &a.facts.Session.Label }
func (a *activation) response() *label.Label { return a.facts.Response }

// plainRead reports whether the call only reads, by what the server says of it or what is known of it.
func (a *activation) plainRead() bool {
	return a.annotations.ReadOnly == contract.Yes || a.facts.Tool.Declared.ReadOnly == contract.Yes
}

// boundedText returns the text, or an error if it is longer than rules may read.
func boundedText(s string) ref.Val {
	if len(s) > maxText {
		return types.NewErr("a text of %d bytes is longer than the %d that rules may read", len(s), maxText)
	}
	return types.String(s)
}

// list returns the set as a sorted list, or an error if it is larger than rules may read.
func list[T ~string](set label.Set[T]) ref.Val {
	if set.Len() > maxTexts {
		return types.NewErr("a set of %d elements is larger than the %d that rules may read", set.Len(), maxTexts)
	}
	items := make([]string, 0, set.Len())
	for item := range set.All() {
		if len(item) > maxText {
			return types.NewErr("an element of %d bytes is longer than the %d that rules may read", len(item), maxText)
		}
		items = append(items, string(item))
	}
	return types.NewStringList(types.DefaultTypeAdapter, items)
}
