package interceptors

import (
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
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/asked"
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

	// Trust returns how far a server is trusted now: as far as the operator says, or less after breaches of its
	// contract that gateways found. Nil: as far as the operator says.
	Trust func(ctx context.Context, server string) (contract.Trust, error)

	Redacts bool   // findings are redacted, stripped or marked: weir-redact is offered
	Version string // of Weir
	Logger  *slog.Logger
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
	asked  asked.Book
	told   toldBook
	latest atomic.Pointer[string] // which a tracker of agent sessions wants
}

// New returns a decider.
func New(opts Options) (*Decider, error) {
	if len(opts.Servers) == 0 {
		return nil, errors.New("no server is configured")
	}
	return &Decider{Options: opts, calls: newCallBook(), told: toldBook{told: bounded.NewMap[intro, struct{}](maxTold)}}, nil
}

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

// serverNow is server with the trust that counts now. Nobody vouches for the definitions of one that has lost all of
// it, which agents were shown.
func (d *Decider) serverNow(ctx context.Context, in *interceptor.Invocation) (*Server, error) {
	s, err := d.server(in)
	if err != nil || d.Trust == nil {
		return s, err
	}
	trust, err := d.Trust(ctx, s.Name)
	if err != nil {
		return nil, d.failed("reading the trust in a server", err)
	}
	now := *s
	if now.Trust = min(trust, s.Trust); now.Trust == contract.Untrusted && s.Trust != contract.Untrusted {
		now.Context = label.Join(now.Context, guard.Definitions(s.Name))
	}
	return &now, nil
}

// session returns the agent session of an invocation: the one that its metadata or its context names, else that of the
// principal. A principal of the context is one of the invoker's own, apart from those of other invokers.
func (d *Decider) session(principal string, in *interceptor.Invocation) (session.Ref, error) {
	owner := principal
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
	ref, failed := agentsession.New(agentsession.Host{Principal: owner}, &d.latest, d.Logger).Of(params)
	if failed != nil {
		return ref, &interceptor.Failure{Code: failed.Code, Message: failed.Message}
	}
	return ref, nil
}

// newCall describes a request to the guard. The caller has checked that it comes back to a question, if it says so.
func (d *Decider) newCall(ctx context.Context, ref session.Ref, s *Server, event string, params json.RawMessage) (*guard.Call, error) {
	c, err := guard.NewCall(ref, s.Name, s.Trust, event, params)
	if err != nil {
		return nil, bad("%s", err)
	}
	c.Describe(c.Declared, s.Overlay)
	c.Readers, c.Context, c.Further = s.Readers, s.Context, protocol.Returns(params)
	if c.Undeclared.Params = protocol.Beyond(event, params); c.Undeclared.Params != nil {
		c.Violates = protocol.UnknownMembers
	}
	held := func(ctx context.Context) (string, error) { return approve.HeldSession(ctx, d.Questions, ref, true) }
	if err := c.HoldBy(ctx, held); err != nil {
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
