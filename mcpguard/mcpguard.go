// Package mcpguard puts Weir's guard into programs that use the official Go SDK, without a gateway.
//
// A host wraps the transport to each of its servers. All of them share the agent session, so that a result of one
// server counts when the next is called:
//
//	p, err := mcpguard.New(mcpguard.Options{Ask: askTheUser})
//	mail := p.Transport(mcpguard.Server{Name: "mail", Trust: contract.Trusted}, transport)
//	session, err := client.Connect(ctx, mail, nil)
//
//	result, err := session.CallTool(mcpguard.WithUserMessage(ctx, "Send the minutes to ann@example.com"), call)
//
// The user's messages tell which destinations the user has named, and save approval requests. A call that its server
// answers with a question, and that is sent again with the answer, needs one approval.
//
// A server adds middleware that respects its clients' statements about their agents (SEP-1913, Server
// Responsibilities), and labels its results:
//
//	server.AddReceivingMiddleware(p.Middleware("mail", contracts))
//
// Both go through guard.Before and the admission that it returns, and keep their promises: nothing is sent that was not
// decided and recorded, nothing is handed on that was not labelled, and an error never becomes an allow. A refused tool
// call is a result with isError, any other refused request the JSON-RPC error guard.CodeRefused.
//
// All that guard.Guarded names is decided, recorded and labelled: beside calls, prompts and resources the completions,
// subscriptions, and each method and notification that MCP does not have, of which the worst is assumed. The rest, such
// as handshakes, lists and cancellations, goes to the server made anew, without any member that could hold text of an
// agent; and a client's introduction of itself counts once, as it first was. A server gets answers to its questions
// and to ping, and to no other request.
//
// The transport guards requests of servers to people, models and hosts as well, and the answers: requests of the server
// up to 2025-11-25, inputRequests and inputResponses in 2026-07-28. A call that its server answers with a question is
// decided on in each of its rounds. Definitions for which nobody vouches, and notifications of a server that is not
// trusted, raise the agent sessions of the Protector. As in the gateway, a server that marks a tool as resolvable is
// asked for the contract of each call before the call is decided (tools/resolve), a call with arguments outside of the
// tool's input schema may do anything, and with [Options.Pins] definitions are those that were accepted. Unlike the
// gateway, Transport keeps no labels of resources.
package mcpguard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/asked"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// approvalTime is how long a person's yes holds. The call is repeated at once, so it need not be long.
const approvalTime = time.Minute

// stateTime is how long a host may take to bring the answers to its server's questions.
const stateTime = 15 * time.Minute

// Options configures a Protector.
type Options struct {
	Policy *policy.Policy // nil: policy.Default()
	Mode   policy.Mode    // zero: enforce
	State  guard.State    // of sessions and events; nil: in memory, without a record

	TrustText string   // text that counts as the user's own in every session
	Domains   []string // the operator's own domains, in lower case; subdomains count
	Me        []string // the user's own mail addresses

	// Detection is the search of results, errors, questions and messages of servers, and of arguments. Nil: as the
	// gateway does by default. One without a detector searches nothing. Texts stay as they are: no effect may change
	// them.
	Detection *guard.Detection

	Words annotation.Words // the dialects that are read and written, and the meaning of the organisation's labels; zero: all are read

	// Session says which agent session a call belongs to. Nil: to that of [WithSession], and all other calls to one
	// session of this Protector.
	Session func(ctx context.Context) session.Ref

	// Ask puts a question to a person, in the words of package approval, and reports whether it was accepted. It may
	// take long; ctx ends with the call. Nil means that nobody can be asked, and so no.
	Ask func(ctx context.Context, q *guard.Question) (bool, error)

	// Pins keep the definitions of servers as they were accepted. A tool, a prompt or instructions that the server
	// changes later are shown as they were, and calls of that tool are blocked, until a person accepts the change.
	// Nil: nothing is pinned, so changes are not noticed, and those of untrusted servers always raise sessions.
	Pins *Pins

	// Review asks a person to accept a definition that differs from the pinned one, and reports whether it was
	// accepted. It may take long, and the list, handshake or call waits; ctx ends with that. Nil, no and an error
	// leave it held. After no, the same change is not asked about again; [Pins.Accept] accepts it later.
	Review func(ctx context.Context, c *Change) (bool, error)

	// Breaches keep the breaches of contract by which servers lose trust, beyond this Protector. Nil: in memory.
	Breaches store.Approvals

	// Callbacks tell the host of decisions that are made already; they change none. They may be called concurrently,
	// and the call waits for them. Nil: the host is not told.
	OnWarning   func(ctx context.Context, c *guard.Call, r guard.Refusal)            // a call or a result is no plain allow
	OnTrust     func(ctx context.Context, server string, now contract.Trust)         // a server has lost trust
	OnMalicious func(ctx context.Context, c *guard.Call, result label.Label)         // a result is reported as malicious
	OnRaise     func(ctx context.Context, session string, before, after label.Label) // an agent session has seen more
}

// A Protector guards calls between one program and its MCP peers. It is safe for concurrent use.
type Protector struct {
	opts     Options
	guard    *guard.Guard
	accepted guard.Accepted
	schemas  inputschema.Cache

	conduct conduct
	reviews *reviews
	asked   asked.Book
	heard   guard.Heard // of the texts that the host was shown outside of results and definitions

	mu      sync.Mutex
	first   *session.Ref // the agent session of the first call; nil: there was none
	several bool         // there were calls of more than one
}

// New returns a Protector.
func New(opts Options) (*Protector, error) {
	if opts.Session == nil {
		only := session.Ref{Key: "process:" + rand.Text(), Principal: "local"}
		opts.Session = func(ctx context.Context) session.Ref {
			if ref, ok := ctx.Value(agentSession{}).(session.Ref); ok {
				return ref
			}
			return only
		}
	}
	if opts.State == nil {
		opts.State = guard.NewState(nil, record.Discard())
	}
	if opts.OnRaise != nil {
		opts.State = raising{opts.State, opts.OnRaise}
	}
	if opts.Detection == nil {
		opts.Detection = &guard.Detection{Detector: detect.New()}
	}
	for name, e := range opts.Detection.Effects {
		if e == guard.Redact || e == guard.Strip || e == guard.Spotlight {
			return nil, fmt.Errorf("the effect of findings %s would change texts, which a Protector does not", name)
		}
	}
	if len(opts.Detection.Sent) > 0 {
		return nil, errors.New("findings in arguments would be redacted, which a Protector does not")
	}
	if opts.Breaches == nil {
		opts.Breaches = store.NewMemory(nil)
	}
	p := &Protector{opts: opts, reviews: newReviews(opts), conduct: conduct{
		kept: approve.NewConduct(opts.Breaches, opts.State), told: opts.OnTrust, met: map[string]contract.Trust{},
	}}
	g, err := guard.New(guard.Options{
		Policy: opts.Policy, Mode: opts.Mode, State: opts.State, Approvals: &p.accepted,
		Memory: guard.NewMemory(guard.MemoryOptions{TrustText: opts.TrustText}), Domains: opts.Domains, Me: opts.Me, Words: opts.Words,
		Contents: guard.Contents{Detection: *opts.Detection}, Breach: p.conduct.breach,
	})
	if err != nil {
		return nil, err
	}
	p.guard = g
	return p, nil
}

// warn tells the host of a decision that is no plain allow.
func (p *Protector) warn(ctx context.Context, c *guard.Call, r guard.Refusal) {
	if p.opts.OnWarning != nil {
		p.opts.OnWarning(ctx, c, r)
	}
}

// A Server is how the operator names and trusts a server.
type Server struct {
	Name    string
	Trust   contract.Trust
	Overlay *overlay.Overlay // the operator's description of its tools, such as overlay.Set.For finds; nil: nothing

	// Resolve is how long the server may take to tell the effects of a single call with tools/resolve, if it marks the
	// tool as one for which it does. Zero: 2 seconds; negative: it is not asked.
	Resolve time.Duration
}

// call describes a request to the guard, with the messages of the user in ctx.
func (p *Protector) call(ctx context.Context, s Server, method string, params json.RawMessage) (*guard.Call, error) {
	ref := p.opts.Session(ctx)
	p.mu.Lock()
	if p.first == nil {
		p.first = &ref
	}
	p.several = p.several || *p.first != ref
	p.mu.Unlock()
	return p.callOf(ctx, ref, s, method, params)
}

// callOf describes a request of an agent session. Members that MCP does not have may have it do anything, and so may a
// state and answers for which the server did not ask.
func (p *Protector) callOf(ctx context.Context, ref session.Ref, s Server, method string, params json.RawMessage) (*guard.Call, error) {
	trust, err := p.conduct.trust(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := guard.NewCall(ref, s.Name, trust, method, params)
	if err != nil {
		return nil, err
	}
	beyond := protocol.Beyond(method, c.Params)
	back := &asked.Call{Session: ref, Server: s.Name, Method: method, Params: c.Params}
	if c.Further = protocol.Returns(c.Params) && p.asked.ComesBack(back) == nil; !c.Further {
		if beyond, err = protocol.Unasked(beyond, c.Params); err != nil {
			return nil, err
		}
	}
	if c.Undeclared.Params = beyond; beyond != nil {
		c.Violates = protocol.UnknownMembers
	}
	c.Params, err = withUserMessages(ctx, c.Params)
	return c, err
}

// watched is the member of the notifications of subscriptions/listen with the URIs of resources.
const watched = "resourceSubscriptions"

// mostWatched is how many resources one request may listen for.
const mostWatched = 256

// watch decides on the resources that a request listens for, as on requests to subscribe to them. The answer is the
// refusal of the first that may not, or none.
func (p *Protector) watch(ctx context.Context, ref session.Ref, s Server, params json.RawMessage) (guard.Answer, error) {
	invalid := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params.notifications." + watched + " is no list of strings"}
	list, there := rawjson.Get(params, "notifications", watched)
	if !there {
		return guard.Answer{}, nil
	}
	var uris []string
	if rawjson.Kind(list) != '[' || json.Unmarshal(list, &uris) != nil || len(uris) > mostWatched {
		return guard.Answer{}, invalid
	}
	meta, _ := rawjson.Get(params, "_meta")
	for _, uri := range uris {
		one, err := rawjson.Set([]byte("{}"), rawjson.Quote(uri), "uri")
		if err == nil && meta != nil {
			one, err = rawjson.Set(one, meta, "_meta")
		}
		if err != nil {
			return guard.Answer{}, invalid
		}
		call, err := p.callOf(ctx, ref, s, "resources/subscribe", one)
		if err != nil {
			return guard.Answer{}, err
		}
		call.Describe(call.Declared, s.Overlay)
		if v := p.decide(ctx, call); !v.Allowed() {
			return v.Refusal().Answer(call.Method), nil
		}
	}
	return guard.Answer{}, nil
}

// listener returns the agent session of a request to listen. The SDK sends it without the context of its caller, so it
// belongs to the one session that there were calls of; if there were several, the host has to say.
func (p *Protector) listener(ctx context.Context) (session.Ref, error) {
	ref := p.opts.Session(ctx)
	if _, said := ctx.Value(agentSession{}).(session.Ref); said {
		return ref, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.several:
		return ref, errors.New("weir: nothing says which agent session listens: use subscriptions with one session only")
	case p.first != nil:
		return *p.first, nil
	}
	return ref, nil
}

// A sender takes params to a server and brings its answer.
type sender func(ctx context.Context, params json.RawMessage) (guard.Answer, error)

// through takes a call to its server and the answer back, as far as the guard lets it; refused says that the answer is
// the guard's own. It decides on the answers in the call and on the questions in its answer, too. The error is that of
// send.
func (p *Protector) through(ctx context.Context, c *guard.Call, send sender) (a guard.Answer, refused bool, err error) {
	v := p.permitAnswers(ctx, c)
	if v.Allowed() {
		v = p.decide(ctx, c)
	}
	if !v.Allowed() {
		return v.Refusal().Answer(c.Method), true, nil
	}
	if a, err = send(ctx, v.Params); err == nil {
		if err = annotation.Check(a.Raw()); err != nil {
			err = fmt.Errorf("answer of server %s: %w", c.Server, err)
		}
	}
	if err != nil { // the server has had its chance to act all the same
		return guard.Answer{}, false, errors.Join(err, v.Admission.Failed(context.WithoutCancel(ctx)))
	}
	o := guard.Approved(func() guard.Outcome { return v.Admission.After(ctx, a) }, p.asker(ctx))
	if o.Label.Malicious && p.opts.OnMalicious != nil {
		p.opts.OnMalicious(ctx, c, o.Label)
	}
	if o.Effect != policy.Allow {
		p.warn(ctx, c, o.Refusal())
	}
	a = o.Answer
	if o.Allowed() {
		o = c.AdmitQuestions(a.Result, func(inquiry *guard.Call) guard.Outcome { return p.inquire(ctx, inquiry) })
	}
	if !o.Allowed() {
		return o.Refusal().Answer(c.Method), true, nil
	}
	p.asked.Note(&asked.Call{Session: c.Session, Server: c.Server, Method: c.Method, Params: c.Params}, a.Result)
	if len(guard.InputRequests(a.Result)) > 0 {
		p.accepted.Accept(v.Admission.Onward(), time.Now().Add(stateTime))
	}
	return a, false, nil
}

// Restore has the breaches of a server's contract count no longer, so that it is trusted as far as the host says, by
// the word of a person who says why. The record has an event of it.
func (p *Protector) Restore(ctx context.Context, server, why, by string) error {
	return p.conduct.restore(ctx, server, why, by)
}

// context returns the label of all that the host was shown outside of results. As in the gateway, definitions that
// were reviewed raise nothing.
func (p *Protector) context(ctx context.Context) label.Label {
	vouched, l := p.reviews.vouched(), p.heard.Label()
	for name, trust := range p.conduct.all() {
		trust, _ = p.conduct.trust(ctx, Server{Name: name, Trust: trust})
		if !vouched(name, trust) {
			l = label.Join(l, guard.Definitions(name))
		}
	}
	return l
}

// decide asks the guard, and if need be a person, whether a request may go to the server, and tells the host if the
// decision is no plain allow.
func (p *Protector) decide(ctx context.Context, c *guard.Call) guard.Verdict {
	v := p.before(ctx, c)
	if !v.Plain() {
		p.warn(ctx, c, v.Refusal())
	}
	return v
}

// before asks the guard, and if need be a person, whether something may go to the server.
func (p *Protector) before(ctx context.Context, c *guard.Call) guard.Verdict {
	c.Context = p.context(ctx)
	return guard.Approved(func() guard.Verdict { return p.guard.Before(ctx, c) }, p.asker(ctx))
}

// inquire asks the guard, and if need be a person, whether the host may be asked a question of the server.
func (p *Protector) inquire(ctx context.Context, inquiry *guard.Call) guard.Outcome {
	return guard.Approved(func() guard.Outcome { return p.guard.Ask(ctx, inquiry) }, p.asker(ctx))
}

// asker returns the function that puts an approval request to a person, and keeps an acceptance for the call that
// follows.
func (p *Protector) asker(ctx context.Context) func(*guard.Question) bool {
	return func(q *guard.Question) bool {
		if p.opts.Ask == nil {
			return false
		}
		ok, err := p.opts.Ask(ctx, q)
		if err != nil || !ok {
			return false
		}
		p.accepted.Accept(q.Binding, time.Now().Add(approvalTime))
		return true
	}
}

// permitAnswers decides on the answers with which a host of 2026-07-28 sends a call again, and leaves in its params
// those that may go. The verdict is on the first that may not, or allows.
func (p *Protector) permitAnswers(ctx context.Context, c *guard.Call) guard.Verdict {
	params, v := c.PermitReplies(func(reply *guard.Call) guard.Verdict { return p.before(ctx, reply) })
	if v.Allowed() {
		c.Params = params
	}
	return v
}
