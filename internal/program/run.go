package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// ErrStop ends a program at once. There is no [End] then.
var ErrStop = errors.New("the program was stopped")

// fileName is the name of the text in positions.
const fileName = "program"

// dialect is Starlark with statements at the top and with while; loops are bounded by steps.
var dialect = &syntax.FileOptions{While: true, TopLevelControl: true, GlobalReassign: true}

// identifier are the names that functions in Starlark may have.
var identifier = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// ownNames are names that mean something of ours in a program, beside those of [starlark.Universe].
var ownNames = []string{"call", "value", "print", "read", "result"}

// IsFunction reports whether a tool of a name can be a function in a program: no name that programs have anyway means
// the tool of a server. Any tool can be called by its name.
func IsFunction(tool string) bool {
	if !identifier().MatchString(tool) || starlark.Universe.Has(tool) || slices.Contains(ownNames, tool) {
		return false
	}
	e, err := dialect.ParseExpr(fileName, tool, 0)
	_, ok := e.(*syntax.Ident) // else it is a keyword
	return err == nil && ok
}

// A run is one run of a program.
type run struct {
	makes  func(*Call) (Value, error)
	finds  func(name string) (Value, error)
	thread *starlark.Thread
	seen   map[string]bool // IDs of the values that were read
	calls  int
	kind   Kind  // why the program ends; "" if it goes on
	fatal  error // of ErrStop
}

// Interpret runs a program in this process, without bounds of memory and time: see [Process]. The error is of
// [ErrStop] or nil.
func Interpret(ctx context.Context, p *Program, host Host) (End, error) {
	compiled, end := compile(p)
	if end != nil {
		return *end, nil
	}
	r := &run{
		makes: func(c *Call) (Value, error) { return host.Call(ctx, c) },
		finds: func(name string) (Value, error) { return host.Value(ctx, name) },
		seen:  map[string]bool{}, thread: &starlark.Thread{Name: fileName},
	}
	r.thread.SetMaxExecutionSteps(MaxSteps)
	r.thread.OnMaxSteps = func(*starlark.Thread) { r.stop(Bound) }
	globals, err := compiled.Init(r.thread, r.predeclared(p.Tools))
	if err == nil && r.kind != "" { // in the last step
		err = errRead
	}
	if err != nil {
		return r.failed(err), r.fatal
	}
	result, ok := globals["result"]
	if !ok {
		result = starlark.None
	}
	e := encoder{}
	if err := e.document(result); err != nil {
		return r.failed(r.unfit(&e, err)), nil
	}
	return End{Result: e.out, Uses: r.uses(e.from)}, nil
}

// Check returns the end in error of a program that cannot be run; nil if it can.
func Check(p *Program) *End {
	_, end := compile(p)
	return end
}

// compile returns a program that can be run, or its end. All errors of that are in its text.
func compile(p *Program) (*starlark.Program, *End) {
	if len(p.Source) > MaxSource {
		return nil, &End{Kind: Bound, Message: fmt.Sprintf("it is longer than %d bytes", MaxSource)}
	}
	if name, line := vault.FindHandle(p.Source); name != "" {
		return nil, &End{Kind: Syntax, Line: line, Message: "programs have no handles: write value(\"" + name + "\")"}
	}
	f, err := dialect.Parse(fileName, p.Source, 0)
	if err != nil {
		return nil, invalid(err)
	}
	rewrite(f)
	compiled, err := starlark.FileProgram(f, (&run{}).predeclared(p.Tools).Has)
	if err != nil {
		return nil, invalid(err)
	}
	if compiled.NumLoads() > 0 {
		return nil, &End{Kind: Syntax, Message: "load: there are no files"}
	}
	return compiled, nil
}

// invalid returns the end of a program that is none.
func invalid(err error) *End {
	end := &End{Kind: Syntax, Message: err.Error()}
	var scan syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.As(err, &scan):
		end.Line, end.Message = int(scan.Pos.Line), scan.Msg
	case errors.As(err, &names) && len(names) > 0:
		end.Line, end.Message = int(names[0].Pos.Line), names[0].Msg
	}
	return end
}

// A function takes arguments in order and by name.
type function = func(starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// predeclared returns the names of a program beside those of Starlark: the tools whose names are such of
// functions, and functions of ours.
func (r *run) predeclared(tools []string) starlark.StringDict {
	names := starlark.StringDict{}
	for _, tool := range tools {
		if !IsFunction(tool) {
			continue
		}
		names[tool] = builtin(tool, func(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			if len(args) > 0 {
				return nil, fmt.Errorf("%s takes arguments by name", tool)
			}
			d := starlark.NewDict(len(kw))
			for _, pair := range kw {
				if err := d.SetKey(pair[0], pair[1]); err != nil {
					return nil, err
				}
			}
			return r.call(tool, d)
		})
	}
	own := map[string]function{
		"call": r.callByName, "value": r.named, "print": ignored,
		"read": r.read, readAll: r.read, readOne: r.readOne, "int": r.converted("int"), "float": r.converted("float"),
	}
	for name, f := range own {
		names[name] = builtin(name, f)
	}
	return names
}

func builtin(name string, f function) *starlark.Builtin {
	type values = []starlark.Tuple
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw values) (starlark.Value, error) {
		return f(args, kw)
	})
}

func ignored(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) { return starlark.None, nil }

// read returns its argument without hidden values.
func (r *run) read(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("read", args, kw, 1, &v); err != nil {
		return nil, err
	}
	return plain(v, maxDepth)
}

// readOne returns its argument, which is read if it is hidden.
func (r *run) readOne(args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if h, ok := args[0].(*hidden); ok {
		return h.read(), nil
	}
	return args[0], nil
}

// converted returns a function of Starlark that reads its arguments.
func (r *run) converted(name string) function {
	return func(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		all, err := plain(args, maxDepth)
		if err != nil {
			return nil, err
		}
		return starlark.Call(r.thread, starlark.Universe[name], all.(starlark.Tuple), kw)
	}
}

func (r *run) callByName(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var tool string
	arguments := new(starlark.Dict)
	if err := starlark.UnpackArgs("call", args, kw, "tool", &tool, "arguments?", &arguments); err != nil {
		return nil, err
	}
	return r.call(tool, arguments)
}

// call has the host call a tool.
func (r *run) call(tool string, arguments *starlark.Dict) (starlark.Value, error) {
	if r.calls++; r.calls > MaxCalls {
		r.stop(Bound)
		return nil, fmt.Errorf("more than %d calls", MaxCalls)
	}
	e := encoder{}
	if err := e.document(arguments); err != nil {
		return nil, r.unfit(&e, err)
	}
	if r.kind != "" {
		return nil, errRead
	}
	return r.given(r.makes(&Call{Tool: tool, Arguments: e.out, Uses: r.uses(e.from), Places: e.places, Read: len(r.seen) > 0}))
}

// named returns the hidden value of a name that the agent knows.
func (r *run) named(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs("value", args, kw, 1, &name); err != nil {
		return nil, err
	}
	if r.kind != "" {
		return nil, errRead
	}
	return r.given(r.finds(name))
}

// given returns a value of the host.
func (r *run) given(v Value, err error) (starlark.Value, error) {
	switch {
	case errors.Is(err, ErrStop):
		r.fatal = err
		r.stop(Called)
		return nil, err
	case err != nil:
		r.stop(Called)
		return nil, err
	}
	return &hidden{r, []part{{of: &v}}}, nil
}

// saw notes that a value is read.
func (r *run) saw(h *hidden) {
	for _, p := range h.parts {
		if p.of != nil {
			r.seen[p.of.ID] = true
		}
	}
}

// stop ends the program at its next step.
func (r *run) stop(k Kind) {
	r.kind = cmp.Or(r.kind, k)
	r.thread.Cancel(string(k))
}

// unfit notes that a value is none of JSON, which tells of the hidden values in it.
func (r *run) unfit(e *encoder, err error) error {
	for _, h := range e.from {
		r.saw(h)
		r.kind = cmp.Or(r.kind, Hidden)
	}
	return err
}

// uses returns the IDs of the values that may have influenced something with these hidden values in it.
func (r *run) uses(in []*hidden) []string {
	all := maps.Clone(r.seen)
	for _, h := range in {
		for _, p := range h.parts {
			if p.of != nil {
				all[p.of.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// failed returns the end in an error. Its text may hold anything that was read, so it is told only if nothing was.
func (r *run) failed(err error) End {
	end := End{Kind: cmp.Or(r.kind, Failed), Message: err.Error()}
	var at *starlark.EvalError
	if errors.As(err, &at) {
		end.Message = at.Msg
		for i := range len(at.CallStack) {
			if pos := at.CallStack.At(i).Pos; pos.Filename() == fileName {
				end.Line = int(pos.Line)
				break
			}
		}
	}
	if end.Uses = r.uses(nil); len(end.Uses) > 0 {
		end.Message = ""
	}
	return end
}

// document writes a value that hosts may take: one JSON document that no two readers read differently.
func (e *encoder) document(v starlark.Value) error {
	if err := e.value(v, maxDepth); err != nil {
		return err
	}
	if len(e.out) > MaxOutput {
		return errTooLong
	}
	if rawjson.Check(e.out) != nil {
		return errNoJSON
	}
	return nil
}
