package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
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

// Bits that an answer tells of hidden values: whether the program ended well, in an error, at a call that needs an
// approval or at one that is refused; and where and how in an error.
const endBits = 2

func errorBits(source string) int {
	return bits.Len(uint(strings.Count(source, "\n")+1)) + bits.Len(program.Kinds)
}

// A programRun is one run of a program: the host of its calls.
type programRun struct {
	f       ownHost
	x       *exchange
	done    []doneCall // calls of an earlier run of the same program, which ended at an approval request
	calls   []doneCall
	known   map[string]vault.Value // that the program got, by ID, without their answers
	refusal *rpc.Message           // the answer to the agent in the place of the end; nil if there is none
	waits   bool                   // the refusal came before the call, and may become an approval
}

var (
	errOwnTool   = errors.New("tools of Weir's own are not called by programs")
	errReplay    = errors.New("the program made other calls than before")
	errArguments = errors.New("the arguments are no JSON object")
	errOther     = errors.New("the program names a value that it did not get")
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
	before, err := f.Engine.running.begin(ref.Principal, key)
	if err != nil {
		return f.InternalError(x.m, err)
	}
	var waits *waitingProgram
	defer func() { f.Engine.running.end(key, waits) }()
	wait := func(done []doneCall, said map[string]any) {
		waits = &waitingProgram{ref.Principal, done, said, time.Now().Add(f.Engine.patience())}
	}
	told := endBits
	if before.principal != "" {
		told = 0 // they count once
	}
	own := &ownCall{exchange: x}
	admission, refusal := own.permitLook(ctx, told, 0, true)
	if refusal != nil {
		if waitsForApproval(refusal) {
			wait(before.done, before.said)
		}
		return refusal
	}
	done, said := before.done, before.said
	if said == nil {
		run := &programRun{f: f, x: x, done: before.done, known: map[string]vault.Value{}}
		end, err := f.Engine.Interpreter.Run(ctx, p, run)
		switch {
		case run.refusal != nil:
			if run.waits {
				wait(run.calls, nil)
			}
			return run.refusal
		case err != nil:
			return f.InternalError(x.m, err)
		}
		done = run.calls
		if said, err = run.ended(ctx, p.Source, &end); err != nil {
			return own.answered(ctx, admission, said, err)
		}
	}
	answer := own.answered(ctx, admission, said, nil)
	if waitsForApproval(answer) {
		wait(done, said)
	}
	return answer
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
		v, err := r.f.Engine.Guard.Hidden.Find(ctx, r.x.route.call.Session, this.result)
		return r.given(&v, err)
	}
	inner, err := r.exchangeOf(ctx, c)
	if err != nil {
		return program.Value{}, err
	}
	v, err := r.answer(ctx, inner)
	if err != nil {
		return program.Value{}, err
	}
	this.result = v.ID
	r.calls = append(r.calls, this)
	if v.Failed() {
		return program.Value{}, fmt.Errorf("the tool says that it went wrong: its text is hidden value %s", v.Name)
	}
	return r.given(v, nil)
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
	if asking := r.x.route.call; to.call.Session != asking.Session || !slices.Equal(to.call.Above, asking.Above) {
		r.refusal = r.x.refused(guard.Refusal{When: policy.OnCall, Rule: guard.RuleHeld, Message: "the conversation goes on in another agent session, " +
			"so the program was stopped"})
		return nil, program.ErrStop
	}
	var err error
	if to.call.Uses, err = r.got(c.Uses); err != nil {
		return nil, err
	}
	to.call.Places, to.call.Computed, to.call.Hide = c.Places, c.Read, true
	inner := newExchange(r.f.Host, r.x.m, r.x.who, to)
	inner.alone, inner.plain, inner.veiled = true, c.Arguments, c.Read
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
func (r *programRun) answer(ctx context.Context, inner *exchange) (*vault.Value, error) {
	answer, refusal := inner.round(ctx)
	if refusal != nil {
		r.waits = inner.admission == nil && waitsForApproval(refusal)
		return nil, r.stop(inner, refusal)
	}
	if inner.asking || inner.inquires {
		asks := hosterror.New("it asks for input, which a program has not: call the tool without a program")
		return nil, r.stop(inner, inner.unanswered(ctx, hosterror.At(inner.route.call.Server, asks)))
	}
	o := inner.after(ctx, inner.route.call, func() guard.Outcome { return inner.admission.After(ctx, *answer) })
	inner.tellFinding(ctx, o, o.Value == nil)
	if o.Value == nil {
		why := o.Refusal()
		why.Message += "; the call was made, and programs get no such result"
		return nil, r.stop(inner, r.x.refused(why))
	}
	if inner.warning != nil && !inner.veiled {
		r.x.warning = inner.warning
	}
	return o.Value, nil
}

// stop ends the program with an answer to the agent. Where hidden values may have chosen the call, that tells only
// whether a person may accept it: which call it is, and why it does not go, is for the person. The bits of it count.
func (r *programRun) stop(inner *exchange, refusal *rpc.Message) error {
	r.refusal = refusal
	if !inner.veiled || protocol.NeedsInput(refusal.Result) {
		return program.ErrStop
	}
	r.refusal = r.x.refused(veiled(policy.Block, "a call of the program", inner.remedy))
	return program.ErrStop
}

// given returns a hidden value for the program. It may be gone from the vault when the program uses it.
func (r *programRun) given(v *vault.Value, err error) (program.Value, error) {
	if err != nil {
		return program.Value{}, errors.New(valueError(err))
	}
	doc := v.Document()
	kept := *v
	kept.Arguments, kept.Result, kept.Error, kept.Part = nil, nil, nil, nil
	r.known[v.ID] = kept
	return program.Value{ID: v.ID, Document: doc}, nil
}

// got returns hidden values that the program got.
func (r *programRun) got(ids []string) (all []vault.Value, err error) {
	for _, id := range ids {
		v, ok := r.known[id]
		if !ok {
			return nil, errors.Join(program.ErrStop, errOther)
		}
		all = append(all, v)
	}
	return all, nil
}

// Value returns a hidden value that the agent names. It may be of another session, above this one or below, so this
// one is as private from now on: the end of the program may tell of it.
func (r *programRun) Value(ctx context.Context, name string) (program.Value, error) {
	hidden, asking := r.f.Engine.Guard.Hidden, r.x.route.call
	v, err := guard.Named(ctx, hidden, asking.Session, name)
	if err != nil {
		return program.Value{}, errors.New(valueError(err))
	}
	if err := hidden.Admit(ctx, asking, &v); err != nil {
		r.f.Engine.Log.Error("raising an agent session by a hidden value", "error", err)
		return program.Value{}, errors.New(hosterror.Text(err))
	}
	return r.given(&v, nil)
}

// ended returns the answer to the agent: the result, or that it is hidden if hidden values may have influenced it,
// or the error.
func (r *programRun) ended(ctx context.Context, source string, end *program.End) (map[string]any, error) {
	hidden, ref := r.f.Engine.Guard.Hidden, r.x.route.call.Session
	if end.Kind != "" {
		said := map[string]any{"error": "the program ended in an error"}
		if len(end.Uses) > 0 {
			if err := hidden.Spend(ctx, ref, errorBits(source)); errors.Is(err, guard.ErrSpent) {
				return said, nil
			} else if err != nil {
				return nil, err
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
	from, err := r.got(end.Uses)
	if err != nil {
		return nil, err
	}
	made, err := hidden.Keep(ctx, ref, programTool, from, end.Result)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("The result may depend on hidden values, so it is value %s: write %s in the arguments of a tool.", made.Name, made.Handle())
	return map[string]any{"value": made.Name, "how": text}, nil
}
