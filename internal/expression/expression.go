// Package expression is the language in which policies and overlays state conditions: CEL over a closed vocabulary of
// variables, with helper functions for values in arguments (paths, URLs, hosts, addresses, SQL, shell commands).
//
// Make a [Compiler] of a vocabulary with [New]; [Compiler.Compile] checks a text and returns a [Condition], or its
// problems, each with the place and a remedy: misspelt names and values that a variable never has are mistakes at load.
// A [Frame] evaluates conditions over the values of one moment.
//
// The package promises:
//
//   - The cost of a condition is bounded: estimated at load against sizes that are enforced ([MaxText], [MaxTexts],
//     [MaxArguments]), or, where arguments are looped over, counted while it runs.
//   - The helper functions are total on texts, take time linear in them, and use no regular expressions.
//   - A condition depends on its values only: no clock, no chance, no I/O. Objects iterate in the order of their names.
//
// Compilers and conditions do not change and are safe for concurrent use; a frame belongs to one goroutine.
package expression

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// Arguments is the name of the one variable whose shape is not known at load: a JSON object, see [DecodeArguments].
const Arguments = "call.arguments"

// The sizes that the cost of a condition is estimated with. Who fills variables in has to enforce them.
const (
	MaxText      = 2 << 10  // bytes of a name, an id or an element of a set
	MaxTexts     = 4 << 10  // elements of a set
	MaxArguments = 64 << 10 // bytes of call.arguments
)

// A Variable is one name that conditions may use. Names are whole, dots included: to CEL each is a variable of its own,
// so reading one is a single look-up and a misspelt one is an error at load.
type Variable struct {
	Name     string
	Type     *cel.Type
	Optional bool // it may be unknown: has(name) asks, and reads the variable [Presence] of the name
	Elements int  // of a list, how many at most; 0: MaxTexts

	// Never returns, for a text with which the variable or an element of it is compared and that it never is, a remedy,
	// and false for any other. Nil: it may be anything.
	Never func(value string) (hint string, never bool)
}

// Presence returns the name of the variable that has(name) reads. No condition can spell it.
func Presence(name string) string { return "has(" + name + ")" }

// Present returns the name of which the given one is the presence.
func Present(presence string) (name string, ok bool) {
	name, ok = strings.CutPrefix(presence, "has(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ")")
}

// A Condition is a compiled text that is true or false.
type Condition struct {
	Cost    uint64 // its highest cost, in CEL's units; MaxCost if it is limited
	Limited bool   // the cost has no useful bound at load, so it is counted while it runs

	reads   map[string]bool // true: by its value, false: only by its size, or whether it is known
	program cel.Program
}

// Reads reports whether the condition uses the variable.
func (c *Condition) Reads(name string) bool { _, ok := c.reads[name]; return ok }

// ReadsValue reports whether the condition looks at more of the variable than its size and whether it is known.
func (c *Condition) ReadsValue(name string) bool { return c.reads[name] }

// A Frame evaluates conditions over the same values. Close it after use.
type Frame struct {
	values cel.Activation
	shared *interpreter.ExecutionFrame
}

// NewFrame returns a frame over values by the names of variables.
func NewFrame(values cel.Activation) (*Frame, error) {
	shared, err := interpreter.NewExecutionFrame(values)
	if err != nil {
		return nil, fmt.Errorf("preparing an evaluation: %w", err)
	}
	return &Frame{values, shared}, nil
}

// Close returns the frame's memory to its pool.
func (f *Frame) Close() { f.shared.Close() }

// Holds evaluates the condition. Conditions share the frame's memory; one that counts its cost needs its own.
func (f *Frame) Holds(c *Condition) (bool, error) {
	var values any = f.shared
	if c.Limited {
		values = f.values
	}
	out, _, err := c.program.Eval(values)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition gives %v, not a bool", out.Type())
	}
	return bool(b), nil
}
