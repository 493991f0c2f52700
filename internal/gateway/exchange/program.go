package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/vault"
)

// An Interpreter runs programs of agents.
type Interpreter interface {
	Run(ctx context.Context, p *program.Program, host program.Host) (program.End, error)
}

// programTool is the name of the tool that runs programs.
const programTool = ownPrefix + "exec"

const programDefinition = `{"name":"weir_exec","title":"Run a program","description":"Runs a program in Starlark (a small Python without imports, ` +
	`classes, exceptions, files and network). The tools are functions with arguments by name, as r = read_mail(id=1); ` +
	`call(\"any-name\", {...}) ` +
	`calls one whose name is none of Starlark. Results are hidden from you: r[\"from\"] selects a part, and parts can be ` +
	`arguments of calls and joined ` +
	`with text by +. Any other use reads a value, as if r[\"n\"] > 3, for x in r[\"list\"], and then every later call is decided as ` +
	`if you had read it. ` +
	`value(\"w48213\") is a hidden value of yours. You get the global variable result: itself, or as a hidden value if it may depend on ` +
	`hidden ones. ` +
	`A failed call ends the program. Calls that need an approval are asked about one by one: if told so, make the same call of weir_exec again, and ` +
	`the program goes on.","inputSchema":{"type":"object","properties":{"program":{"type":"string"}},"required":["program"]},` +
	`"annotations":{"readOnlyHint":false,"openWorldHint":true}}`

// Bits that an answer tells of hidden values: that the program ended well, and where and how not.
const endBits = 1

func errorBits(source string) int {
	return bits.Len(uint(strings.Count(source, "\n")+1)) + bits.Len(program.Kinds)
}

// A programRun is one run of a program: the host of its calls.
type programRun struct {
	f       ownHost
	x       *exchange
	done    []doneCall // calls of an earlier run of the same program, which ended at an approval request
	calls   []doneCall
	refusal *rpc.Message // the answer to the agent in the place of the end; nil if there is none
	late    bool         // the refusal came after the call
}

var (
	errOwnTool   = errors.New("tools of Weir's own are not called by programs")
	errReplay    = errors.New("the program made other calls than before")
	errArguments = errors.New("the arguments are no JSON object")
)

// program answers weir_exec.
func (f ownHost) program(ctx context.Context, m *rpc.Message) *rpc.Message {
	x, refusal := f.open(ctx, m)
	if refusal != nil {
		return refusal
	}
	asking := x.route.call
	if asking.Held != "" {
		return x.refused(guard.Refusal{When: policy.OnCall, Rule: guard.RuleHeld, Message: asking.Held})
	}
	raw, _ := rawjson.Get(asking.Arguments, "program")
	source, ok := rawjson.String(raw)
	if !ok {
		return failed(x, "the arguments are not those of the tool's schema")
	}
	if _, mode := f.Engine.Guard.Rules(); mode != policy.Enforce {
		return failed(x, "programs run only in mode enforce: in others, results are not hidden")
	}
	tools, err := f.programTools(ctx)
	if err != nil {
		return f.InternalError(x.m, err)
	}
	return f.runProgram(ctx, x, &program.Program{Source: source, Tools: tools})
}

// runProgram runs a program, and goes on with one that has waited for an approval.
func (f ownHost) runProgram(ctx context.Context, x *exchange, p *program.Program) *rpc.Message {
	ref := x.route.call.Session
	key := fmt.Sprintf("%q %q %x", ref.Principal, ref.Key, sha256.Sum256([]byte(p.Source)))
	done, err := f.Engine.running.begin(ref.Principal, key)
	if err != nil {
		return f.InternalError(x.m, err)
	}
	run := &programRun{f: f, x: x, done: done}
	var waits *waitingProgram
	defer func() { f.Engine.running.end(key, waits) }()
	wait := func(refusal *rpc.Message, done []doneCall) *rpc.Message {
		if waitsForApproval(refusal) {
			waits = &waitingProgram{ref.Principal, done, time.Now().Add(f.Engine.patience())}
		}
		return refusal
	}
	told := endBits
	if done != nil {
		told = 0 // they count once
	}
	own := &ownCall{exchange: x}
	admission, refusal := own.permitLook(ctx, told, 0, true)
	if refusal != nil {
		return wait(refusal, done)
	}
	end, err := f.Engine.Interpreter.Run(ctx, p, run)
	switch {
	case run.refusal != nil:
		if run.late {
			return run.refusal
		}
		return wait(run.refusal, run.calls)
	case err != nil:
		return f.InternalError(x.m, err)
	}
	said, err := run.ended(ctx, p.Source, &end)
	return own.answered(ctx, admission, said, err)
}

// waitsForApproval reports whether a refusal may become an approval.
func waitsForApproval(refusal *rpc.Message) bool {
	raw, _ := rawjson.Get(refusal.Result, "_meta", guard.MetaVerdict, "effect")
	effect, _ := rawjson.String(raw)
	return protocol.NeedsInput(refusal.Result) || effect == policy.Ask.String()
}

// programTools returns the names of the tools that are functions.
func (f ownHost) programTools(ctx context.Context) (names []string, err error) {
	l, err := f.set.List(ctx, catalog.Tools, false)
	if err != nil {
		return nil, err
	}
	for e := range l.All() {
		if program.IsFunction(e.Shown) && !strings.HasPrefix(e.Shown, ownPrefix) {
			names = append(names, e.Shown)
		}
	}
	return names, nil
}

// Call makes a call of the program. It is decided and answered as one of the agent is, with the hidden values that
// may have influenced it.
func (r *programRun) Call(ctx context.Context, c *program.Call) (program.Value, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return program.Value{}, err
	}
	this := doneCall{call: sha256.Sum256(raw)}
	if n := len(r.calls); n < len(r.done) {
		if this.result = r.done[n].result; this.call != r.done[n].call {
			return program.Value{}, errReplay
		}
		r.calls = append(r.calls, this)
		return r.result(ctx, this.result)
	}
	inner, err := r.exchangeOf(ctx, c)
	if err != nil {
		return program.Value{}, err
	}
	o, err := r.answer(ctx, inner)
	if err != nil {
		return program.Value{}, err
	}
	name, _ := rawjson.Get(o.Answer.Result, "_meta", guard.MetaValue)
	this.result, _ = rawjson.String(name)
	r.calls = append(r.calls, this)
	if failed, _ := rawjson.Get(o.Answer.Result, "isError"); string(failed) == "true" {
		return program.Value{}, fmt.Errorf("the tool says that it went wrong: its text is hidden value %s", this.result)
	}
	return r.result(ctx, this.result)
}

// exchangeOf returns the exchange of a call: its messages to the host are those of the request with the program.
func (r *programRun) exchangeOf(ctx context.Context, c *program.Call) (*exchange, error) {
	if strings.HasPrefix(c.Tool, ownPrefix) {
		return nil, errOwnTool
	}
	if rawjson.Kind(c.Arguments) != '{' || rawjson.Check(c.Arguments) != nil {
		return nil, errArguments
	}
	params := json.RawMessage(`{"name":` + string(rawjson.Quote(c.Tool)) + `,"arguments":` + string(c.Arguments) + `}`)
	if meta, ok := rawjson.Get(r.x.m.Params, "_meta"); ok { // which may name the agent session
		var err error
		if params, err = rawjson.Set(params, meta, "_meta"); err != nil {
			return nil, err
		}
	}
	m := *r.x.m
	m.Params, m.Odd = rawjson.Delete(params, "_meta", "progressToken"), true // nobody has looked for odd names
	to, rerr := r.f.byName(ctx, &m, r.f.set, catalog.Tools)
	if rerr != nil {
		return nil, errors.New(rerr.Message)
	}
	for _, name := range c.Uses {
		v, err := r.f.Engine.Guard.Hidden.Value(ctx, to.call.Session, name)
		if err != nil {
			return nil, errors.New(valueError(err))
		}
		to.call.Uses = append(to.call.Uses, v)
	}
	to.call.Hide = true
	inner := newExchange(r.f.Host, r.x.m, r.x.who, to)
	inner.alone, inner.plain = true, c.Arguments
	inner.m = unwatched(r.x.m)
	return inner, nil
}

// unwatched returns a request whose server tells no progress: that of one call of many says nothing of the program.
func unwatched(m *rpc.Message) *rpc.Message {
	out := *m
	out.Params = rawjson.Delete(m.Params, "_meta", "progressToken")
	return &out
}

// answer makes a call and returns its answer, which is hidden. Any other ends the program: nobody is asked about a
// result of a program.
func (r *programRun) answer(ctx context.Context, inner *exchange) (guard.Outcome, error) {
	answer, refusal := inner.round(ctx)
	if refusal != nil {
		r.refusal, r.late = refusal, inner.admission != nil
		return guard.Outcome{}, program.ErrStop
	}
	r.late = true
	if inner.asking || inner.inquires {
		asks := hosterror.New("it asks for input, which a program has not: call the tool without a program")
		r.refusal = inner.unanswered(ctx, hosterror.At(inner.route.call.Server, asks))
		return guard.Outcome{}, program.ErrStop
	}
	o := inner.after(ctx, inner.route.call, func() guard.Outcome { return inner.admission.After(ctx, *answer) })
	inner.tellFinding(ctx, o, o.Effect != policy.Hide)
	if o.Effect != policy.Hide {
		why := o.Refusal()
		why.Message += "; the call was made, and programs get no such result"
		r.refusal = r.x.refused(why)
		return guard.Outcome{}, program.ErrStop
	}
	r.late = false
	if inner.warning != nil {
		r.x.warning = inner.warning
	}
	return o, nil
}

// result returns the result of a call of the program.
func (r *programRun) result(ctx context.Context, name string) (program.Value, error) {
	v, err := r.f.Engine.Guard.Hidden.Value(ctx, r.x.route.call.Session, name)
	if err != nil {
		return program.Value{}, errors.New(valueError(err))
	}
	return program.Value{Name: v.Name, Document: v.Document()}, nil
}

// Value returns a hidden value that the agent names. It may be of another session, above this one or below, so this
// one is as private from now on: the end of the program may tell of it.
func (r *programRun) Value(ctx context.Context, name string) (program.Value, error) {
	hidden, asking := r.f.Engine.Guard.Hidden, r.x.route.call
	v, err := hidden.Value(ctx, asking.Session, name)
	if err != nil {
		return program.Value{}, errors.New(valueError(err))
	}
	if err := hidden.Admit(ctx, asking, &v); err != nil {
		r.f.Engine.Log.Error("raising an agent session by a hidden value", "error", err)
		return program.Value{}, errors.New(hosterror.Text(err))
	}
	return r.result(ctx, name)
}

// ended returns the answer to the agent: the result, or that it is hidden if hidden values may have influenced it,
// or the error.
func (r *programRun) ended(ctx context.Context, source string, end *program.End) (map[string]any, error) {
	hidden, ref := r.f.Engine.Guard.Hidden, r.x.route.call.Session
	if end.Kind != "" {
		said := map[string]any{"error": "the program ended in an error"}
		if len(end.Uses) > 0 {
			if ok, err := hidden.Spend(ctx, ref, errorBits(source)); !ok || err != nil {
				return said, err
			}
		}
		said["error"] = string(end.Kind)
		if end.Line > 0 {
			said["line"] = end.Line
		}
		if end.Message != "" && len(end.Uses) == 0 {
			said["reason"] = end.Message
		}
		return said, nil
	}
	if len(end.Uses) == 0 {
		return map[string]any{"result": end.Result}, nil
	}
	var from []vault.Value
	for _, name := range end.Uses {
		v, err := hidden.Value(ctx, ref, name)
		if err != nil {
			return nil, err
		}
		from = append(from, v)
	}
	made, err := hidden.Keep(ctx, ref, programTool, from, end.Result)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("The result may depend on hidden values, so it is value %s: write %s in the arguments of a tool.", made.Name, made.Handle())
	return map[string]any{"value": made.Name, "how": text}, nil
}
