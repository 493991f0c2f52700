// Package guard is the one path on which Weir decides.
//
// [Guard.Before] takes a call that an agent wants to make and says whether it may: it joins the contract of the tool,
// the label of the agent session and the policy into a [Verdict]. The verdict of a call that may go has an [Admission],
// which alone accepts the answer: [Admission.After] labels it, raises the session by that label and says whether the
// agent may see it. Every transport and every caller goes through these two, so there is nothing else to audit.
//
// They promise:
//
//   - The zero Verdict, the zero Admission and the zero Outcome deny. An error anywhere, of the store, the record or a rule,
//     never becomes an allow.
//   - An admission accepts one answer, once. A second one is withheld.
//   - A decision is recorded before it is returned, and a label is raised, and its rise recorded, before the data that
//     raised it is handed on.
//   - Nothing that a server or a result says lowers a label. Claims of servers that are not trusted only raise.
//   - Ask is a verdict, not a callback: it holds a [Question] with all that a person needs. An answer comes back through
//     [Approvals], bound to the exact call; the caller then asks again.
//
// The package touches neither network nor files, starts no goroutine, and its methods are safe for concurrent use.
package guard

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// Options configures a Guard.
type Options struct {
	Policy    *policy.Policy   // nil: policy.Default()
	Mode      policy.Mode      // zero: enforce
	State     State            // required
	Approvals Approvals        // nil: nothing is ever approved
	Taints    Taints           // nil: resources that calls write to have no label when they are read back; with a Vault, in memory
	Now       func() time.Time // nil: time.Now

	Domains  []string            // the operator's own domains, in lower case; subdomains count
	Me       []string            // the user's own mail addresses
	Readers  map[string][]string // groups of readers, see trace.NewReadership; none: nothing is known of readers
	Memory   *Memory             // of sessions, which several guards may share; nil: one of the guard's own, of 32 MiB
	Words    annotation.Words    // the dialects that are read of calls and results, and written to them
	Contents Contents            // the parts of arguments and answers that events keep
	Files    Files               // of this machine; nil: the text of a path is all that is known

	Vault      *vault.Vault // keeps hidden results; nil: a person is asked about results that rules hide
	CannotHide bool         // no result can be replaced: a person is asked about those that rules hide, in spite of the Vault
	Setup      string       // names all of the operator's configuration that lowers labels of hidden values

	Review func(server string) string // the command by which a person reviews definitions of a server; nil: there is none

	// Breach is told of breaches of contract, whose events are recorded. After an error the answer is withheld. Nil:
	// they have no consequence.
	Breach func(ctx context.Context, c *Call, b Breach) error
}

// A Guard decides. Make one with [New].
type Guard struct {
	Hidden *Hidden // values that agents were not shown
	Plans  *Plans  // calls that people approved before

	decider
	tracer    *trace.Tracer
	readers   trace.Readership
	resources resourceLabels
	annotator annotator
	usual     *usual
	breaches  *breaches
}

// New returns a guard.
func New(opts Options) (*Guard, error) {
	if opts.State == nil {
		return nil, errors.New("a guard needs a state of sessions and events")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Taints == nil && opts.Vault != nil { // a server that got a hidden value may repeat it
		opts.Taints = session.NewTaints(session.TaintOptions{})
	}
	readers := trace.NewReadership(opts.Readers)
	if opts.Memory == nil {
		opts.Memory = NewMemory(MemoryOptions{Now: opts.Now})
	}
	tracer := trace.New(trace.Options{Domains: opts.Domains, Me: opts.Me, Readers: readers, Memory: opts.Memory.traces})
	g := &Guard{tracer: tracer, readers: readers, annotator: annotator{words: opts.Words}, usual: newUsual(), breaches: newBreaches(opts.Breach)}
	g.origins = &opts.Memory.origins
	g.evidence = evidence{opts.State, opts.Now}
	g.contents, g.review = opts.Contents, opts.Review
	g.annotator.detection = &g.contents.Detection
	g.Hidden = &Hidden{vault: opts.Vault, hides: opts.Vault != nil && !opts.CannotHide, setup: setup{g, opts.Setup}, state: opts.State, guard: g}
	g.Plans = &Plans{guard: g}
	g.approver = approver{opts.Approvals, tracer, g.Plans}
	g.machine = machine{opts.Files}
	g.resources = resourceLabels{opts.Taints, g.machine, &g.evidence}
	g.Swap(opts.Policy, opts.Mode)
	return g, nil
}

// Swap has the guard decide by another policy and mode from now on; a nil policy is policy.Default(). A decision that
// is being made meanwhile is by the old or by the new pair, never by a mixture. Sessions keep their labels. An approval
// is bound to the policy that asked, and allows nothing under another.
func (g *Guard) Swap(p *policy.Policy, mode policy.Mode) {
	if p == nil {
		p = policy.Default()
	}
	reads := func(fact string) func() bool { return sync.OnceValue(func() bool { return p.Reads(fact) }) }
	g.rules.Store(&rules{policy: p, mode: mode, looks: reads("session.looked"), compares: reads("response.changed")})
}

// Index indexes the texts of a guard's results until ctx ends. Where it does not run, calls that are traced do so.
func Index(ctx context.Context, g *Guard) { g.tracer.Work(ctx) }

// Rules returns the policy and the mode at the moment.
func (g *Guard) Rules() (*policy.Policy, policy.Mode) {
	r := g.rules.Load()
	return r.policy, r.mode
}

// Defect records that the call's server broke its contract, a schema or the protocol.
func (g *Guard) Defect(ctx context.Context, c *Call, d annotation.Defect) error {
	return g.evidence.defect(ctx, c, d)
}

// Told raises the call's agent session by the label of text that its server sends while it works on the call: the text
// may tell the content of the answer, so it counts as that does, whoever the server is. It is searched as an answer is; text that
// was searched already is nil, and the label is that of [Guard.Hear]. The agent may see the text if the error is nil.
func (g *Guard) Told(ctx context.Context, c *Call, l label.Label, text json.RawMessage) error {
	r := g.parse(c)
	search := g.contents.Detection.told(text, r.Tools.In(r.Server))
	said := l
	l = label.Join(l, search.label)
	if answer := label.Join(r.Effective.Label(), r.actor()).Normal(); !answer.IsZero() {
		answer.Attribution = label.SetOf(r.uri)
		l = label.Join(l, answer)
	}
	state, err := g.evidence.open(ctx, &r.Call)
	if err == nil {
		_, err = g.raise(ctx, r, state.Label, l)
	}
	if err == nil && search.alert != "" {
		err = g.evidence.alarm(ctx, r, state.Label, "a message of "+r.uri+" "+search.alert)
	}
	if err == nil && said.Findings.Len() > 0 {
		_, err = g.evidence.heard(ctx, r, state.Label, said)
	}
	g.origins.addContext(r.Session, l)
	return err
}

// parse returns the call with the contract that counts for its arguments, by the reading of its paths at this moment.
func (g *Guard) parse(c *Call) *request {
	r := newRequest(c)
	r.refine(g.machine.read(r))
	return r
}

// raise raises the session of a call. Credentials in the label count as those of the call's server; in a call of Weir's
// own, as those of the servers of the hidden values in it. No label from outside tells of alerts. Readers are those of the
// server's data, unless others had a part in it: a person, or hidden values of anywhere.
func (g *Guard) raise(ctx context.Context, r *request, seen, l label.Label) (label.Label, error) {
	stated := r.Readers
	if r.asked || len(r.Uses) > 0 {
		stated = nil
	}
	l = g.readers.Limit(seen, withoutAlerts(l), stated)
	l.Findings = l.Findings.Without(computedAlone)
	if r.Server != Own || len(r.Uses) == 0 {
		g.tracer.AddLabel(r.Session, l, r.Server)
	}
	for i := range r.Uses {
		if r.Server == Own {
			g.tracer.AddLabel(r.Session, l, r.Uses[i].Server)
		}
	}
	return g.evidence.raise(ctx, &r.Call, seen, l)
}

// raiseBy raises the session of a call by the label of data that it brings, and remembers the source.
func (g *Guard) raiseBy(ctx context.Context, r *request, seen, l label.Label) error {
	if l.Untrusted {
		g.tracer.ExpectUntrusted(r.Session)
	}
	if _, err := g.raise(ctx, r, seen, l); err != nil {
		return err
	}
	g.origins.add(r.Session, Origin{URI: r.uri, Label: l.Taint()})
	return nil
}

// raiseUnanswered raises the session of a call by every label that the contract and the resources of the call give its answer. That of a
// tool of the host reaches the agent before [Guard.Observe] sees it, if it ever does.
func (g *Guard) raiseUnanswered(ctx context.Context, r *request, seen label.Label) error {
	if r.Host {
		g.tracer.Await(r.Session, r.ID)
	}
	lasting, _, err := g.resources.read(ctx, r)
	if err != nil {
		return err
	}
	l := label.Join(label.Join(label.Join(r.Effective.Label(), ruled(r, nil)), lasting), r.actor()).Normal()
	l.Attribution = l.Attribution.Union(label.SetOf(r.uri))
	return g.raiseBy(ctx, r, seen, l)
}

// enter opens the agent session, joins the label of the data that the agent has already seen by the word of the host,
// and returns its state.
func (g *Guard) enter(ctx context.Context, r *request) (session.State, error) {
	state, err := g.evidence.open(ctx, &r.Call)
	if err != nil {
		return session.State{}, err
	}
	claimed, defects := g.annotator.words.Reader.ReadRequest(r.Params)
	if !r.entered {
		if err := g.addUserMessages(ctx, &r.Call); err != nil {
			return session.State{}, err
		}
		if err := g.evidence.defects(ctx, &r.Call, defects); err != nil {
			return session.State{}, err
		}
		r.entered = true
	}
	told := label.Join(claimed, r.Context)
	g.tracer.AddLabel(r.Session, told, "")
	state.Label, err = g.raise(ctx, r, state.Label, g.readers.Limit(state.Label, told, nil))
	g.origins.addContext(r.Session, r.Context)
	if err == nil && r.Context.Findings.Len() > 0 {
		state.Label, err = g.evidence.heard(ctx, r, state.Label, r.Context)
	}
	return state, err
}

// addUserMessages notes the user's messages that the host sends with a call.
func (g *Guard) addUserMessages(ctx context.Context, c *Call) error {
	texts, valid := userMessages(c.Params)
	if len(texts) == 0 && valid {
		return nil
	}
	defect := annotation.Defect{Where: "_meta." + MetaUserMessage}
	switch kept := g.tracer.AddUserMessages(c.Session, texts); {
	case !valid:
		defect.Reason = "neither a text nor a list of texts"
	case !kept:
		defect.Reason = "more than is kept of the user's words"
	default:
		return nil
	}
	return g.evidence.defect(ctx, c, defect)
}
