// Package guard is the one path on which Weir decides.
//
// [Guard.Before] takes a call that an agent wants to make and says whether it may: it joins the contract of the tool, the
// label of the agent session and the policy into a [Verdict]. [Guard.After] takes what came back, labels it, raises the
// session by that label and says whether the agent may see it. Every transport and every caller goes through these two,
// so there is nothing else to audit.
//
// What they promise:
//
//   - The zero Verdict and the zero Outcome deny. An error anywhere, of the store, the record or a rule, never becomes an allow.
//   - A decision is recorded before it is returned, and a label is raised, and its rise recorded, before the data that
//     raised it is handed on.
//   - Nothing that a server or a result says lowers a label. Claims of servers that are not trusted only raise.
//   - Ask is a verdict, not a callback: it holds a [Question] with all that a person needs. An answer comes back through
//     [Approvals], bound to the exact call; the caller then asks Before again.
//
// The package touches neither network nor files, starts no goroutine, and its methods are safe for concurrent use.
package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// RuleInternal is the rule that a verdict names when no policy rule but an error of Weir's own denied the call.
const RuleInternal = "weir:error"

// RuleHeld is the rule that a verdict names when the definition of the tool is not the one that was accepted.
const RuleHeld = "weir:held"

// Approvals remembers what persons have accepted.
type Approvals interface {
	// Redeem reports whether a person has accepted exactly what binding stands for, and uses the acceptance up. A
	// binding is redeemed once at most; only what was accepted as the Grant of a [Question] stays.
	Redeem(ctx context.Context, binding string) (bool, error)
}

// Options configures a Guard.
type Options struct {
	Policy    *policy.Policy    // nil: policy.Default()
	Mode      policy.Mode       // zero: enforce
	Sessions  *session.Sessions // required
	Record    record.Recorder   // required; record.Discard() to keep nothing
	Approvals Approvals         // nil: nothing is ever approved
	Taints    Taints            // nil: what is written to a resource has no label when it is read back
	Now       func() time.Time  // nil: time.Now

	TrustText string           // text that counts as the user's own in every session
	Domains   []string         // the operator's own domains, in lower case; what is below them counts
	Memory    trace.Room       // for the traces of sessions; nil: 32 MiB of the guard's own
	Words     annotation.Words // what is read of calls and results, and written to them
	Contents  Contents         // what events keep of arguments and answers
	Files     Files            // of this machine; nil: the text of a path is all that is known

	Review func(server string) string // the command by which a person reviews definitions of a server; nil: there is none
}

// A Guard decides. Make one with [New].
type Guard struct {
	opts    Options // but for policy and mode, which are in rules
	rules   atomic.Pointer[rules]
	origins origins
	written memos // annotations of requests, by agent session, and of results, by where they come from

	tracer *trace.Tracer
}

// New returns a guard.
func New(opts Options) (*Guard, error) {
	if opts.Sessions == nil || opts.Record == nil {
		return nil, errors.New("a guard needs sessions and a record")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	g := &Guard{opts: opts, tracer: trace.New(trace.Options{TrustText: opts.TrustText, Domains: opts.Domains, Room: opts.Memory, Now: opts.Now})}
	g.Swap(opts.Policy, opts.Mode)
	return g, nil
}

// A Call is something that an agent wants to do with a server: call a tool, read a resource, get a prompt.
type Call struct {
	ID      string      // ties the events of the call together; unique
	Session session.Ref // the agent session
	Server  string      // the server's name in the configuration
	Trust   contract.Trust
	Method  string          // JSON-RPC method, such as "tools/call"
	Name    string          // tool or prompt name on its server, or resource URI
	Params  json.RawMessage // the request's params as the host sent them; a JSON object without duplicate names, or nil

	// Arguments is what the agent chose in this call: a JSON object, or nil. For a tool or a prompt it is
	// params.arguments; to read a resource that its server lists, the agent chooses nothing.
	Arguments json.RawMessage

	Declared  contract.Contract // what the server says of the tool
	Effective contract.Contract // what counts whatever the arguments are: contract.Overlaid(Overlay.Static(), Declared, Trust), raised by Overlay.Drafted()

	Overlay  *overlay.Tool      // what the operator says of the tool; nil: nothing
	Resolved *contract.Contract // what the server says of this very call: see [Guard.Resolved]; nil: nothing

	// Violates says in which way the arguments are outside of the tool's input schema; "" if they are not, or there is none. Such
	// a call may do anything: whatever is said of the tool was said of other arguments.
	Violates string

	// Undeclared is what the request holds that nothing declares: the agent chose its names, as it did values.
	Undeclared Undeclared

	// Schema is the JSON Schema of the arguments, as the server wrote it, or nil. It tells how much the choice of arguments can carry.
	Schema json.RawMessage

	Held string // why the call must not go, whatever policy says of it; "" if nothing holds it

	// Context is the label of everything that the agent was shown outside of results: definitions of tools, prompts and resources,
	// instructions, log and progress messages. It enters the agent session before the call is decided. See [Definitions].
	Context label.Label

	// Further says that the request goes on with a call that went out before, and adds nothing but answers to its
	// server's questions: see [Guard.Onward].
	Further bool

	asked  bool  // it is a question of the server, see Inquiry
	within *Call // in which the server asked; nil if that is not known

	said  *contract.Contract // by operator and server for the arguments; nil: what the server declares
	notes []overlay.Note     // why the operator says that for the arguments

	read struct {
		forms  []json.RawMessage // further readings of the arguments: with each path as it leads for the server
		unsure bool              // a path may lead elsewhere too
		runs   string            // what a stranger has put there that the call may run; "" if nothing
	}

	canonical *canonical // form of Params, as Before saw them; nil if it did not
}

// Undeclared are the parts of a request of which neither MCP nor the tool's input schema knows. They are traced as arguments are.
type Undeclared struct {
	Names []string // of members of the arguments that the schema does not name, at any depth

	// Beside are the paths of those that may change what other arguments mean. Where the overlay names one of them no more than the
	// schema does, its conditions were written of other calls, so they cannot lower the contract of this one.
	Beside []string

	// Params are the members of the params that MCP does not have for the method, as a JSON object, or nil. What a server does with them
	// nobody says.
	Params json.RawMessage
}

// A Verdict is what may happen to a call.
type Verdict struct {
	Effect   policy.Effect   // the zero value is Block
	Rule     string          // the rule that decided; empty if none matched
	Message  string          // for people and for the agent
	Params   json.RawMessage // what to send: the params with the session's annotations; nil unless the call may go
	Question *Question       // set if Effect is Ask
	Redeemed string          // the binding of the acceptance that was used up; empty if none was
	exact    bool            // that was of exactly this call, by a person who was asked about it
	Err      error           // why Rule is RuleInternal, for logs: it may tell of the store; nil otherwise
}

// Allowed reports whether the call may go.
func (v Verdict) Allowed() bool { return v.Effect == policy.Allow || v.Effect == policy.Warn }

// Plain reports whether the call may go and there is nothing to tell.
func (v Verdict) Plain() bool { return v.Effect == policy.Allow }

// Before decides whether the call may happen. It keeps what it has found out about the params in c, which must not be in use
// elsewhere.
func (g *Guard) Before(ctx context.Context, c *Call) Verdict {
	if IsInquiry(c.Method) && !c.asked {
		return denied(errBackwards)
	}
	c.canonical = c.canonicalParams()
	c = g.located(c).forArguments()
	seen, err := g.enter(ctx, c)
	if err != nil {
		return denied(err)
	}
	seen.Label = label.Join(seen.Label, c.strangersRun())
	facts := c.facts(policy.OnCall, seen)
	if v, denied := g.barred(ctx, c, facts); denied {
		return v
	}
	traced := c.traced()
	found := g.tracer.Trace(traced, facts, true)
	v, err := g.settle(ctx, matter{call: c, facts: facts, found: found})
	if err != nil || !v.Allowed() || v.exact {
		g.tracer.Discharge(traced, facts, found, err == nil && v.exact)
	}
	if err != nil {
		return denied(err)
	}
	if !v.Allowed() {
		return v
	}
	if err := g.taint(ctx, c, facts); err != nil {
		return denied(err)
	}
	first := g.tracer.AddCall(traced, facts, found)
	if c.asked {
		if v.Params, err = g.reply(ctx, c, seen); err != nil {
			return denied(err)
		}
		return v
	}
	if v.Params, err = g.upward(c, seen); err != nil {
		return denied(err)
	}
	if err := g.count(ctx, c, first); err != nil {
		return denied(fmt.Errorf("counting the call: %w", err))
	}
	return v
}

// count counts a call that goes out. The first one of the session in this process is counted at once: from then on every other process knows that it
// has not seen all of them.
func (g *Guard) count(ctx context.Context, c *Call, first bool) error {
	if first {
		_, err := g.opts.Sessions.Count(ctx, c.Session.Key)
		return err
	}
	return g.opts.Sessions.Tally(ctx, c.Session.Key)
}

// enter opens the agent session, joins what the host says that the agent has already seen, and returns its label.
func (g *Guard) enter(ctx context.Context, c *Call) (session.State, error) {
	state, err := g.open(ctx, c)
	if err != nil {
		return session.State{}, err
	}
	if err := g.addUserMessages(ctx, c); err != nil {
		return session.State{}, err
	}
	claimed, defects := g.opts.Words.Reader.ReadRequest(c.Params)
	for _, d := range defects {
		if err := g.Defect(ctx, c, d); err != nil {
			return session.State{}, err
		}
	}
	told := label.Join(claimed, c.Context)
	g.tracer.AddLabel(c.Session, told, "")
	state.Label, err = g.raise(ctx, c, state.Label, told)
	g.origins.shown(c)
	return state, err
}

// open returns the state of the call's agent session. A session that is opened under a parent takes over its label.
func (g *Guard) open(ctx context.Context, c *Call) (session.State, error) {
	state, err := g.openRecorded(ctx, c)
	if err != nil {
		return session.State{}, fmt.Errorf("opening agent session: %w", err)
	}
	return state, nil
}

// A matter is what there is to decide on.
type matter struct {
	call   *Call
	facts  *policy.Facts
	found  *trace.Finding
	answer json.RawMessage // nil before there is one

	evidence  []annotation.Evidence // that the answer refers to
	detection *record.Detection     // of what is in the answer
}

// settle decides on the facts, redeems an approval where one is needed, and records the decision.
func (g *Guard) settle(ctx context.Context, m matter) (Verdict, error) {
	c, f := m.call, m.facts
	by := g.rules.Load()
	d := ruling{by.decide(f, c.read.forms), by.policy.Digest()}
	v := Verdict{Effect: by.mode.Apply(d.Effect), Rule: d.Rule, Message: d.Message}
	e := g.event(record.Decision, c)
	e.Phase = f.Phase.String()
	e.Rule, e.Message = d.Rule, d.Message
	seen := f.Session.Label
	e.Label, e.Facts, e.Evidence = &seen, f.Sketch(), recorded(m.evidence)
	for _, m := range d.Matched {
		e.Matched = append(e.Matched, m.Rule)
	}
	g.describe(e, c, f.Phase, m.answer)
	e.Content.Detection = m.detection
	hint := g.unreviewed(by, m, d)
	if v.Effect != policy.Allow && hint != "" {
		v.Message += "; " + hint
	}
	if v.Effect == policy.Ask {
		v.Question = g.question(m, d, c.canonicalParams().text)
		v.Question.Hint = hint
		e.Binding = v.Question.Binding
		if err := g.answered(ctx, m, d, &v); err != nil {
			return Verdict{}, err
		}
	}
	e.Effect = v.Effect.String()
	if v.Effect != d.Effect {
		e.Decided = d.Effect.String()
	}
	if err := g.write(ctx, e, c.waits(f.Phase, v)); err != nil {
		return Verdict{}, fmt.Errorf("recording the decision: %w", err)
	}
	for _, p := range d.Problems {
		if err := g.Defect(ctx, c, annotation.Defect{Where: "policy " + d.Rule, Reason: p.String()}); err != nil {
			return Verdict{}, err
		}
	}
	return v, nil
}

// barred denies a call that no policy is asked about, and records that.
func (g *Guard) barred(ctx context.Context, c *Call, f *policy.Facts) (v Verdict, barred bool) {
	if v, barred = g.barrier(c); !barred {
		return v, false
	}
	e := g.event(record.Decision, c)
	e.Phase, e.Effect, e.Rule, e.Message = f.Phase.String(), v.Effect.String(), v.Rule, v.Message
	seen := f.Session.Label
	e.Label = &seen
	g.describe(e, c, f.Phase, nil)
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return denied(fmt.Errorf("recording the decision: %w", err)), true
	}
	return v, true
}

// barrier says whether a call is denied whatever policy and mode say: because it is held, or because it would touch what is
// Weir's own.
func (g *Guard) barrier(c *Call) (v Verdict, barred bool) {
	if c.Held != "" {
		return Verdict{Effect: policy.Block, Rule: RuleHeld, Message: c.Held}, true
	}
	if own := g.ownFiles(c); own != "" {
		return Verdict{Effect: policy.Block, Rule: RuleOwnFiles, Message: "it would touch " + own +
			": nothing that goes through weir may touch what is weir's own"}, true
	}
	return v, false
}

// raise joins l into the call's agent session and into its ancestors, and records that. A label that is already covered is
// neither recorded nor written. Credentials in it count as those of the call's server.
func (g *Guard) raise(ctx context.Context, c *Call, seen, l label.Label) (label.Label, error) {
	g.tracer.AddLabel(c.Session, l, c.Server)
	if seen.Covers(l) {
		return seen, nil
	}
	change, err := g.raiseRecorded(ctx, c, l, l.Without(seen))
	if err != nil {
		return label.Label{}, fmt.Errorf("raising the agent session: %w", err)
	}
	return change.After, nil
}

func (g *Guard) recordRise(ctx context.Context, c *Call, key string, added label.Label) error {
	if err := g.opts.Record.Record(ctx, g.rise(c, key, added)); err != nil {
		return fmt.Errorf("recording the label: %w", err)
	}
	return nil
}

// Defect records that the call's server broke its contract, a schema or the protocol.
func (g *Guard) Defect(ctx context.Context, c *Call, d annotation.Defect) error {
	e := g.event(record.Defect, c)
	e.Where, e.Message = d.Where, d.Reason
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a defect: %w", err)
	}
	return nil
}

func (g *Guard) event(kind record.Kind, c *Call) *record.Event {
	e := record.New(kind, g.opts.Now())
	e.Session, e.Parent, e.Principal, e.Call = c.Session.Key, c.Session.Parent, c.Session.Principal, c.ID
	e.Server, e.Method, e.Name = c.Server, c.Method, c.Name
	return e
}
