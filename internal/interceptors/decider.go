package interceptors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// Options configure a Decider.
type Options struct {
	Guard     *guard.Guard
	Questions *approve.Book
	Servers   []Server // at least one
	Redacts   bool     // findings are redacted, stripped or marked: weir-redact is offered
	Version   string   // of Weir
	Logger    *slog.Logger
}

// A Server is a server of the operator's configuration.
type Server struct {
	Name    string
	Trust   contract.Trust
	Overlay *overlay.Overlay // nil: none
	Readers []string
	Context label.Label // of its definitions, which the agent was shown
}

// A Decider decides on payloads. It is safe for concurrent use.
type Decider struct {
	Options
	calls  *callBook
	given  *givenBook
	latest atomic.Pointer[string] // which a tracker of agent sessions wants
}

// New returns a decider.
func New(opts Options) (*Decider, error) {
	if len(opts.Servers) == 0 {
		return nil, errors.New("no server is configured")
	}
	return &Decider{Options: opts, calls: newCallBook(), given: newGivenBook()}, nil
}

// events are the events that Weir decides on.
var events = []string{"tools/call", "resources/read", "prompts/get"}

// argued are those of them whose requests have arguments that can be replaced.
var argued = []string{"tools/call", "prompts/get"}

// Host returns the interceptors for a principal.
func (d *Decider) Host(principal string) (*interceptor.Host, error) {
	p := &desk{d, principal}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"server"}, "additionalProperties": false,
		"properties": map[string]any{"server": map[string]any{"type": "string", "enum": d.names()}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the schema of configurations: %w", err)
	}
	describe := func(name, text string, hooks ...interceptor.Hook) interceptor.Descriptor {
		return interceptor.Descriptor{Name: name, Version: d.Version, Description: text, Hooks: hooks, ConfigSchema: schema}
	}
	request := interceptor.Hook{Events: events, Phase: interceptor.Request}
	response := interceptor.Hook{Events: events, Phase: interceptor.Response}
	annotate := describe("weir-annotate", "adds the label of a result to it", response)
	annotate.Priority.Response = annotateAt
	all := []interceptor.Interceptor{
		{Descriptor: describe("weir-call", "decides on a call by policy", request), Validate: p.call},
		{Descriptor: describe("weir-result", "labels a result, and decides on it by policy", response), Validate: p.result},
		{Descriptor: annotate, Mutate: p.annotate},
	}
	if d.Redacts {
		redact := describe("weir-redact", "replaces secrets and other findings", interceptor.Hook{Events: argued, Phase: interceptor.Request}, response)
		redact.Priority = interceptor.Priority{Request: -redactAt, Response: redactAt}
		all = append(all, interceptor.Interceptor{Descriptor: redact, Mutate: p.redact})
	}
	return interceptor.NewHost(all...)
}

// Priorities, in the bands that the draft recommends: values are replaced early in requests and late in responses, and
// labels are those of results with all values in them.
const (
	annotateAt = 20_000
	redactAt   = 100_000
)

// names returns the names of the servers.
func (d *Decider) names() (names []string) {
	for _, s := range d.Servers {
		names = append(names, s.Name)
	}
	return names
}

// A desk decides for one principal.
type desk struct {
	*Decider
	principal string
}

// bad returns the failure of an invocation that names something wrong.
func bad(text string, values ...any) error {
	return &interceptor.Failure{Code: interceptor.CodeParams, Message: fmt.Sprintf(text, values...)}
}

// server returns the server that an invocation is about: the one that the invoker's configuration names, or the
// only one.
func (d *Decider) server(in *interceptor.Invocation) (*Server, error) {
	for name := range rawjson.Members(in.Config) {
		if name != "server" {
			return nil, bad("config has a member that is not server")
		}
	}
	raw, named := rawjson.Get(in.Config, "server")
	name, ok := rawjson.String(raw)
	switch {
	case !named && len(d.Servers) == 1:
		return &d.Servers[0], nil
	case !named:
		return nil, bad("config.server is missing: name one of %s", strings.Join(d.names(), ", "))
	case ok:
		for i := range d.Servers {
			if d.Servers[i].Name == name {
				return &d.Servers[i], nil
			}
		}
	}
	return nil, bad("config.server is none of %s", strings.Join(d.names(), ", "))
}

// session returns the agent session of an invocation: the one that its metadata or its context names, else that of the
// principal. A principal of the context is one of the invoker's own, apart from those of other invokers.
func (p *desk) session(in *interceptor.Invocation) (session.Ref, error) {
	owner := p.principal
	if of := in.Context.Principal; of != (interceptor.Principal{}) {
		owner = url.QueryEscape(owner) + "//" + url.QueryEscape(of.Type) + "/" + url.QueryEscape(of.ID)
	}
	meta := in.Meta
	if _, named := rawjson.Get(meta, agentsession.MetaSession); !named && in.Context.SessionID != "" {
		var err error
		if meta, err = rawjson.Set([]byte(`{}`), rawjson.Quote(in.Context.SessionID), agentsession.MetaSession); err != nil {
			return session.Ref{}, fmt.Errorf("naming the agent session: %w", err)
		}
	}
	params := json.RawMessage(`{}`)
	if meta != nil {
		params = slices.Concat([]byte(`{"_meta":`), meta, []byte(`}`))
	}
	ref, failed := agentsession.New(agentsession.Host{Principal: owner}, &p.latest, p.Logger).Of(params)
	if failed != nil {
		return ref, &interceptor.Failure{Code: failed.Code, Message: failed.Message}
	}
	return ref, nil
}

// newCall describes a request to the guard.
func (d *Decider) newCall(ctx context.Context, ref session.Ref, s *Server, event string, params json.RawMessage) (*guard.Call, error) {
	c, err := guard.NewCall(ref, s.Name, s.Trust, event, params)
	if err != nil {
		return nil, bad("%s", err)
	}
	c.Describe(c.Declared, s.Overlay)
	c.Readers, c.Context = s.Readers, s.Context
	if c.Undeclared.Params = protocol.Beyond(event, params); c.Undeclared.Params != nil {
		c.Violates = "the request has members that MCP does not know"
	}
	if c.Held, err = approve.HeldSession(ctx, d.Questions, ref, true); err != nil {
		return nil, d.failed("reading the agent session", err)
	}
	return c, nil
}

// params returns the params of a request payload: a request with method and params, or as some invokers send it, params
// alone.
func params(in *interceptor.Invocation) (json.RawMessage, error) {
	if rawjson.Kind(in.Payload) != '{' {
		return nil, bad("the payload is not an object")
	}
	method, wrapped := rawjson.Get(in.Payload, "method")
	inner, there := rawjson.Get(in.Payload, "params")
	if !wrapped && !there {
		return in.Payload, checked(in.Event, "params", in.Payload)
	}
	if name, ok := rawjson.String(method); !ok || name != in.Event {
		return nil, bad("payload.method is not the event")
	}
	for name := range rawjson.Members(in.Payload) {
		if name != "method" && name != "params" && name != "jsonrpc" && name != "id" {
			return nil, bad("the payload has a member that no request has")
		}
	}
	if rawjson.Kind(inner) != '{' {
		return nil, bad("payload.params is not an object")
	}
	return inner, checked(in.Event, "params", inner)
}

// checked returns the failure of params or of a result that a server or a host may read as others than Weir.
func checked(event, member string, value json.RawMessage) error {
	head := `{"jsonrpc":"2.0","id":0,`
	if member == "params" {
		head += `"method":` + string(rawjson.Quote(event)) + `,`
	}
	m, err := rpc.Parse(slices.Concat([]byte(head+`"`+member+`":`), value, []byte(`}`)))
	if err != nil {
		return bad("the payload: %s", err)
	}
	if arguments, _ := rawjson.Get(m.Params, "arguments"); m.Odd && rawjson.Folded(arguments, nil) {
		return bad("members of the arguments differ in nothing but case")
	}
	return nil
}

// failed logs an error of Weir's own, and returns the one that the invoker is told.
func (d *Decider) failed(doing string, err error) error {
	d.Logger.Error(doing, "error", err)
	return errors.New(hosterror.Text(err))
}

// call is weir-call.
func (p *desk) call(ctx context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
	s, err := p.server(in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	ref, err := p.session(in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	out, c, err := p.decide(ctx, ref, s, in)
	p.calls.add(in.Context, ref, s.Name, in.Event, c) // the invoker may ignore a refusal, and an error
	return out, err
}

// decide decides on a call. The call is nil if its payload cannot be read.
func (p *desk) decide(ctx context.Context, ref session.Ref, s *Server, in *interceptor.Invocation) (interceptor.Verdict, *guard.Call, error) {
	sent, err := params(in)
	if err != nil {
		return interceptor.Verdict{}, nil, err
	}
	if err := p.given.comesBack(ref, s.Name, sent); err != nil {
		return interceptor.Verdict{}, nil, bad("%s", err)
	}
	c, err := p.newCall(ctx, ref, s, in.Event, sent)
	if err != nil {
		return interceptor.Verdict{}, nil, err
	}
	decide := func(c *guard.Call) guard.Verdict { return p.Guard.Before(ctx, c) }
	replied, v := c.PermitReplies(decide) // which go with the call (2026-07-28, Multi Round-Trip Requests)
	if v.Allowed() && !bytes.Equal(replied, c.Params) {
		v = guard.Verdict{Message: "no server may be told the _meta of an answer in params.inputResponses; send it without"}
	}
	if v.Allowed() {
		v = decide(c)
	}
	if v.Allowed() {
		if err := v.Admission.Failed(ctx); err != nil { // the invoker may never show the result
			return interceptor.Verdict{}, c, p.failed("raising the agent session", err)
		}
		if untold := p.given.untold(ref.Principal, c.Params, v.Params); untold != "" {
			v = guard.Verdict{Message: untold}
		}
	}
	if v.Err != nil {
		return interceptor.Verdict{}, c, p.failed("deciding on a call", v.Err)
	}
	out := told(v.Refusal())
	if v.Question != nil {
		open, err := p.Questions.Open(ctx, v.Question, nil)
		if err != nil {
			return interceptor.Verdict{}, c, p.failed("entering an approval request", err)
		}
		out.Messages[0].Message += "; the user can approve it with: " + approve.Command(open.ID) + ", then send it again"
	}
	return out, c, nil
}

// passes reports whether a payload goes on. There are no handles here, so one that is hidden does not.
func passes(e policy.Effect) bool { return e == policy.Allow || e == policy.Warn }

// told returns a decision as a verdict.
func told(r guard.Refusal) interceptor.Verdict {
	v := interceptor.Verdict{Valid: passes(r.Effect)}
	if r.Effect == policy.Allow {
		return v
	}
	if v.Severity = interceptor.Error; v.Valid {
		v.Severity = interceptor.Warn
	}
	text := r.Message
	if text == "" {
		text = "policy decides " + r.Effect.String()
	}
	v.Messages = []interceptor.Message{{Message: text, Severity: v.Severity}}
	info, err := json.Marshal(map[string]guard.Refusal{guard.MetaVerdict: r})
	if err == nil {
		v.Info = info
	}
	return v
}

// result is weir-result.
func (p *desk) result(ctx context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
	o, err := p.observe(ctx, in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	return told(o.Refusal()), nil
}

// annotate is weir-annotate. A result that policy withholds has no annotated form.
func (p *desk) annotate(ctx context.Context, in *interceptor.Invocation) (interceptor.Change, error) {
	o, err := p.observe(ctx, in)
	switch {
	case err != nil:
		return interceptor.Change{}, err
	case !passes(o.Effect):
		return interceptor.Change{}, errors.New("withheld by policy: " + o.Refusal().String())
	}
	return interceptor.Change{Payload: o.Answer.Result}, nil
}

// observe labels a result, unless that was done before, and decides on it.
func (p *desk) observe(ctx context.Context, in *interceptor.Invocation) (guard.Outcome, error) {
	s, err := p.server(in)
	if err != nil {
		return guard.Outcome{}, err
	}
	ref, err := p.session(in)
	if err != nil {
		return guard.Outcome{}, err
	}
	of := p.calls.find(in.Context, ref, s.Name, in.Event)
	if o, ok := p.calls.decided(of, in.Payload); ok {
		return o, nil
	}
	p.given.asks(ref, s.Name, in.Payload)
	o, err := p.observeAs(ctx, ref, s, in, of)
	if err == nil {
		p.calls.decide(in.Context, of, in.Payload, o)
	}
	return o, err
}

// observeAs decides on a result as on one of each call that it may be of. The label of each adds to that of those
// before, and the strictest decision counts.
func (p *desk) observeAs(
	ctx context.Context, ref session.Ref, s *Server, in *interceptor.Invocation, of []*made,
) (out guard.Outcome, err error) {
	var calls []*guard.Call
	unknown := false
	for _, m := range of {
		if m.call == nil {
			unknown = true
			continue
		}
		c := *m.call
		if len(of) > 1 && c.Trust == contract.Trusted { // the label of another call is no statement of the server's
			c.Trust = contract.Known
		}
		calls = append(calls, &c)
	}
	if unknown {
		c, err := p.unknownCall(ctx, ref, s, in.Event)
		if err != nil {
			return out, err
		}
		calls = append(calls, c)
	}
	if err := bare(in); err != nil { // the invoker may hand it on all the same
		return out, errors.Join(err, p.presumeWorst(ctx, calls[0]))
	}
	result := in.Payload
	for i, c := range calls {
		o := p.Guard.Observe(ctx, c, guard.Answer{Result: result})
		if passes(o.Effect) { // its questions are shown to a person or a model, as results are
			asked := c.AdmitQuestions(in.Payload, func(q *guard.Call) guard.Outcome { return p.Guard.Ask(ctx, q) })
			if asked.Answer = o.Answer; !passes(asked.Effect) {
				o = asked
			}
		}
		if o.Err != nil {
			return guard.Outcome{}, p.failed("deciding on a result", errors.Join(o.Err, p.presumeWorst(ctx, c)))
		}
		if passes(o.Effect) {
			result = o.Answer.Result
		}
		if i == 0 || o.Effect < out.Effect {
			out = o
		}
	}
	if out.Answer = (guard.Answer{}); passes(out.Effect) {
		out.Answer.Result = result
	}
	return out, nil
}

// bare returns the failure of a payload that is no result of MCP alone: a label in a whole response would stand
// beside the result, where no host reads it.
func bare(in *interceptor.Invocation) error {
	if rawjson.Kind(in.Payload) != '{' {
		return bad("the payload is not an object")
	}
	for _, name := range [...]string{"jsonrpc", "result", "error"} {
		if _, whole := rawjson.Get(in.Payload, name); whole {
			return bad("the payload is a response: send its result alone")
		}
	}
	return checked(in.Event, "result", in.Payload)
}

// unknownCall returns the call of a result that belongs to none: of a tool that may do anything.
func (d *Decider) unknownCall(ctx context.Context, ref session.Ref, s *Server, event string) (*guard.Call, error) {
	worst := *s
	worst.Trust, worst.Overlay = contract.Untrusted, nil
	sent := `{"name":"unknown"}`
	if event == "resources/read" {
		sent = `{"uri":"unknown:"}`
	}
	c, err := d.newCall(ctx, ref, &worst, event, json.RawMessage(sent))
	if err == nil {
		c.Context = label.Join(c.Context, unknown())
		c.Effective = contract.Pessimistic()
		c.Effective.Returns = contract.Possible(label.Credentials)
	}
	return c, err
}

// unknown returns the label of data of which nothing is known.
func unknown() label.Label {
	return label.Label{
		Untrusted: true, Private: true, Sources: label.SetOf(label.UntrustedPublic), Sensitivity: label.SetOf(label.Credentials, label.Unspecified),
	}.Normal()
}

// lateTime is how long to raise a session takes at most whose result could not be decided on.
const lateTime = 5 * time.Second

// presumeWorst raises the agent session as if a result held anything, since the agent may get it.
func (d *Decider) presumeWorst(ctx context.Context, c *guard.Call) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	c.Context = label.Join(c.Context, unknown())
	return d.Guard.Observe(ctx, c, guard.Answer{Result: json.RawMessage(`{"content":[]}`), Own: true}).Err
}
