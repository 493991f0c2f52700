package trace

import (
	"slices"
	"sync"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A Value is an argument of a call, and where it came from.
type Value struct {
	policy.Argument
	Destination bool             // it says where something goes
	From        provenance.Kinds // empty of a text without letters and digits
	Whole       bool             // all of it is one piece of one source
	Matches     []provenance.Match
	Listed      Listed // of a destination, the name that the call's server lists for it as an id
	Bits, Known int    // that its choice can tell; see provenance.Trace
}

// copies reports whether the value is, as a whole, one piece of a source of these kinds.
func (v *Value) copies(from provenance.Kinds) bool { return v.Whole && v.From.Only(from) }

// identifies reports whether a value holds a person's name, an address or a number of five digits or more that is known
// from private data.
func (v *Value) identifies() bool {
	for _, m := range v.Matches {
		if m.Source.Kinds&provenance.Private == 0 {
			continue
		}
		if m.How == provenance.Decoded || m.End > len(v.Text) || tellsWho(v.Text[m.Start:m.End]) {
			return true
		}
	}
	return len(v.Matches) >= provenance.MaxMatches && v.From&provenance.Private != 0 // there may be more
}

// A Finding is the outcome of tracing one call.
type Finding struct {
	Values    []Value
	Cut       bool     // there are more values
	UserWords string   // what the user wrote in the session
	Listed    []string // of a request for a page, the other pages that the same result lists
	Since     string   // stands for the changes that went out before, of which no person was asked
	Approved  bool     // a person was asked about just this call
	Fixed     bool     // the call goes only if nothing went out Since

	// Counting is held for reading if [Tracer.AddCall] says that the call has to be counted, until it is.
	Counting *sync.RWMutex

	bits int        // that the choice of arguments can tell
	to   []receiver // and to whom

	charged map[string]int // bits that are on the accounts of receivers for it, by their keys
	over    []receiver     // the call's server, if it may learn of credentials of another one and keep them

	later func()            // traces the call; nil once it was
	call  *policy.CallFacts // that later found

	beside     int      // bits outside of values: how the arguments are written, and their empty members
	undeclared []string // names that no schema declares
}

// Await has the facts of the call's arguments traced when a rule first reads them. If they were, it fills them in: a
// result may be decided twice, under two policies.
func (f *Finding) Await(facts *policy.Facts) {
	fill := func() policy.CallFacts {
		if facts.Trace = nil; f.later != nil {
			f.later()
		}
		seen := facts.Call.Found
		facts.Call = *f.call
		facts.Call.Found = seen
		return facts.Call
	}
	switch {
	case f.later != nil:
		facts.Trace = fill
	case f.call != nil:
		fill()
	}
}

// Kinds returns the origins of all values.
func (f *Finding) Kinds() (k provenance.Kinds) {
	for _, v := range f.Values {
		k |= v.From
	}
	return k
}

// Tells reports whether a call may hold something that the session has read: a value is neither, as a whole, the user's
// nor a trusted source's that is nobody's secret, or there is more than next to nothing beside the values.
func (f *Finding) Tells() bool {
	for i := range f.Values {
		v := &f.Values[i]
		if !v.copies(provenance.User|provenance.Trusted) && v.Text != "" && v.Text != "true" && v.Text != "false" {
			return true
		}
	}
	return f.Cut || !f.bare()
}

// verbatim reports whether there is a value, each is the user's as a whole, and there is next to nothing beside them.
func (f *Finding) verbatim() bool {
	for i := range f.Values {
		if !f.Values[i].copies(provenance.User) {
			return false
		}
	}
	return len(f.Values) > 0 && !f.Cut && f.bare()
}

// Bounds of a call that holds nothing but the user's words or a trusted source's.
const (
	mostBeside = 16  // bits beside its values
	mostCopied = 256 // bits in all: of many copies, the choice tells something
)

// bare reports whether a call holds next to nothing beside its values: in names that no schema declares, in how it is
// written, in empty members.
func (f *Finding) bare() bool {
	return len(f.undeclared) == 0 && f.beside <= mostBeside && f.bits <= mostCopied
}

// receivers returns those who learn of the call, and its server if that may learn of another one's credentials.
func (f *Finding) receivers() []receiver { return slices.Concat(f.to, f.over) }

func setOf[T comparable](all []T) map[T]bool {
	set := make(map[T]bool, len(all))
	for _, a := range all {
		set[a] = true
	}
	return set
}

func kindSet(k provenance.Kinds) label.Set[string] { return label.SetOf(k.Names()...) }
