// Package program runs programs that agents write, in Starlark: they call tools, and no result of a tool reaches
// the agent by the way.
//
//	p := &program.Process{Command: []string{"weir", "exec", "child"}}
//	end, err := p.Run(ctx, &program.Program{Source: source, Tools: tools}, host) // host makes the calls
//
// The result of a call is a hidden [Value]: a program can select parts of it, join them with text, and use them as
// arguments without anything of the program depending on them. Every other use reads the value, and from then on
// everything that the program does may depend on it. So each [Call], and the result of the program, has the IDs
// of all results that may have influenced it: those in its arguments, and all that the program has read before.
// The agent learns of an end in error where it is, and the reason only if nothing was read.
//
// A program may end early because a hidden value is not as it expects. Calls that then are not made tell of that;
// nothing in Starlark catches an error, so a program tells so only once, by the number of its calls.
//
// Programs are hostile. Starlark has no I/O, but memory and time of its operations have no bound, so [Process]
// runs each program in a process of its own, which ends itself where it takes too much memory, and is killed where
// it takes too long.
package program

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/vault"
)

// Bounds of a program.
const (
	MaxSource = 64 << 10         // bytes of its text
	MaxCalls  = 128              // of tools
	MaxSteps  = 5_000_000        // of the interpreter
	MaxOutput = 1 << 20          // bytes of the arguments of a call, and of the result
	MaxTime   = 10 * time.Second // for its own work, calls left out
	MaxMemory = 256 << 20        // bytes of its process
)

// A Program is a text in Starlark, and the tools that are functions in it.
type Program struct {
	Source string   `json:"source"`
	Tools  []string `json:"tools,omitempty"`
}

// A Call is the call of a tool by a program.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
	Uses      []string        `json:"uses"`      // IDs of the values that may have influenced the call, sorted
	Places    []vault.Place   `json:"places"`    // of values in the arguments
	Read      bool            `json:"read"`      // values were read, and may have influenced all of the call
}

// A Value is a result that the program may use: a JSON document with an ID, which the program does not see.
type Value struct {
	ID       string          `json:"id"`
	Document json.RawMessage `json:"document"`
}

// A Host does for a program what the program cannot. An error of [ErrStop] ends the program at once; any other is
// one of the program, at the line of the call.
type Host interface {
	Call(ctx context.Context, c *Call) (Value, error)
	Value(ctx context.Context, name string) (Value, error) // the value of a name that the agent wrote
}

// An End is how a program ended.
type End struct {
	Result json.RawMessage `json:"result,omitempty"` // JSON of its global result; null if there is none
	Uses   []string        `json:"uses,omitempty"`   // IDs of the values that may have influenced Result or the error

	Kind    Kind   `json:"kind,omitempty"` // of the error; "" if there is none
	Line    int    `json:"line,omitempty"` // of the error; 0 if it is of none
	Message string `json:"message,omitempty"`
}

// A Kind is a kind of error.
type Kind string

// The kinds of errors. Their texts are for agents.
const (
	Syntax Kind = "the program is no valid Starlark"
	Failed Kind = "an operation failed"
	Bound  Kind = "the program took too many steps, calls, bytes or too long"
	Hidden Kind = "a hidden value has no such part, or another type"
	Called Kind = "a call failed"
)

// Kinds is the number of kinds.
const Kinds = 5
