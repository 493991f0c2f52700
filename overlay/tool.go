package overlay

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
)

// A definition is the description in one entry of the tools, resources or prompts that a pattern names.
type definition struct {
	pattern string
	line    int
	entry   *entry

	base        contract.Contract
	refinements []refinement
	destination []path
	content     []path
	roles       bool // destination or content is stated
	reads       []template
	folders     []template // read without what lies deeper in them
	writes      []template
	resource    bool                   // any of these is stated
	named       func() map[string]bool // arguments that it speaks of; made when first used
	results     []rule
	lists       *listing
}

// A refinement replaces members of the contract where a condition holds.
type refinement struct {
	condition *expression.Condition
	contract  contract.Contract
	why       string
	text      string // of the condition
	line      int
}

// definitions are those of one entry, in the order of the file.
type definitions []*definition

// find returns the definition that fits the name best: the exact one, else the glob with the longest literal part, of
// equals the first.
func (all definitions) find(name string) *definition {
	var best *definition
	for _, d := range all {
		switch {
		case d.pattern == name:
			return d
		case !isGlob(d.pattern) || !glob(d.pattern, name):
		case best == nil || literal(d.pattern) > literal(best.pattern):
			best = d
		}
	}
	return best
}

// literal returns how much of a pattern is no star.
func literal(pattern string) int { return len(pattern) - strings.Count(pattern, "*") }

// A Tool is the description of one tool, resource or prompt, by one entry or several: the first that states a member
// has it. A nil Tool is empty.
type Tool struct {
	layers []*definition
	drafts []*definition // which only raise

	static  contract.Contract
	drafted contract.Contract
}

func newTool(layers []*definition) *Tool {
	t := &Tool{}
	for _, d := range layers {
		if d.entry.Draft {
			t.drafts = append(t.drafts, d)
			t.drafted = t.drafted.Raise(d.possible())
			continue
		}
		t.layers = append(t.layers, d)
		t.static = t.static.Over(d.possible())
	}
	return t
}

// possible returns the join of the contracts for all arguments.
func (d *definition) possible() contract.Contract {
	all := d.base
	for _, r := range d.refinements {
		all = contract.Join(all, r.contract.Over(d.base))
	}
	return all
}

// Static returns the tool's contract for any arguments: the join of the contracts for all of them.
func (t *Tool) Static() contract.Contract {
	if t == nil {
		return contract.Contract{}
	}
	return t.static
}

// Drafted returns the tool's contract in drafts. It may only raise a contract (see [contract.Contract.Raise]).
func (t *Tool) Drafted() contract.Contract {
	if t == nil {
		return contract.Contract{}
	}
	return t.drafted
}

// Effective returns the contract that counts for any arguments: [contract.Overlaid] of the operator's word and the
// server's declaration, raised by the drafts.
func (t *Tool) Effective(declared contract.Contract, trust contract.Trust) contract.Contract {
	return contract.Overlaid(t.Static(), declared, trust).Raise(t.Drafted())
}

// A Note is why a contract is as it is: a refinement that was applied, or one whose condition could not be evaluated,
// in which case it could only raise.
type Note struct {
	Entry  string // the entry's name
	File   string
	Line   int    // of the refinement
	Why    string // in the writer's words; else the condition
	Failed string // why the condition could not be evaluated; "" if it holds
}

// String returns it in one line.
func (n Note) String() string {
	s := fmt.Sprintf("%s (%s:%d)", n.Why, n.File, n.Line)
	if n.Failed != "" {
		s += ": " + n.Failed
	}
	return s
}

// Refine returns the contract of a call of the tool with the arguments, a JSON object without duplicate names or nil.
func (t *Tool) Refine(arguments []byte) (contract.Contract, []Note) {
	if !t.Refines() {
		return t.Static(), nil
	}
	frame, err := expression.NewFrame(&values{source: arguments})
	if err != nil {
		return t.static, nil
	}
	defer frame.Close()
	var said contract.Contract
	var notes []Note
	for _, d := range t.layers {
		c := d.base
		for _, r := range d.refinements {
			refined := r.contract.Over(c)
			holds, err := frame.Holds(r.condition)
			switch {
			case err != nil:
				c = contract.Join(c, refined)
				notes = append(notes, d.note(r, err.Error()))
			case holds:
				c = refined
				notes = append(notes, d.note(r, ""))
			}
		}
		said = said.Over(c)
	}
	return said, notes
}

// Refines reports whether the tool's contract depends on its arguments.
func (t *Tool) Refines() bool {
	if t == nil {
		return false
	}
	for _, d := range t.layers {
		if len(d.refinements) > 0 {
			return true
		}
	}
	return false
}

func (d *definition) note(r refinement, failed string) Note {
	why := r.why
	if why == "" {
		why = r.text
	}
	return Note{Entry: d.entry.Name, File: d.entry.File, Line: r.line, Why: why, Failed: failed}
}

// A Said is one entry that speaks of a tool.
type Said struct {
	Entry    Entry
	Pattern  string // of the definition
	Line     int    // of the definition
	Contract contract.Contract
}

// Said returns who says what, in the order in which it counts, drafts last, whatever the arguments are.
func (t *Tool) Said() []Said {
	if t == nil {
		return nil
	}
	var all []Said
	for _, d := range slices.Concat(t.layers, t.drafts) {
		all = append(all, Said{d.entry.Entry, d.pattern, d.line, d.possible()})
	}
	return all
}

// values are the variables of conditions. The arguments are decoded when a condition first reads them.
type values struct {
	source []byte
	parsed ref.Val
}

// ResolveName returns the arguments.
func (v *values) ResolveName(name string) (any, bool) {
	if name != expression.Arguments {
		return nil, false
	}
	if v.parsed == nil {
		v.parsed = expression.DecodeArguments(v.source)
	}
	return v.parsed, true
}

// Parent returns nil: there is nothing outside.
func (*values) Parent() cel.Activation { return nil }
