package interceptor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Direction says whether a payload leaves the invoker or comes to it. It does not follow from the phase: a client
// sends requests, and a server sends responses (Direction and interception points).
type Direction int

// The directions. Sending mutates first, receiving validates first.
const (
	Sending Direction = iota
	Receiving
)

// An Entry is an interceptor of one host, with the invoker's policy for it.
type Entry struct {
	Descriptor
	Overrides Overrides

	// Invoke sends interceptor/invoke with params to the host that has listed the descriptor, and returns the result.
	Invoke func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
}

// Overrides are the invoker's policy for an interceptor: nil leaves the author's default (Author defaults and invoker
// policy).
type Overrides struct {
	Mode     *Mode
	FailOpen *bool
	Priority *Priority
	Timeout  time.Duration   // of one invocation; 0: none
	Hooks    []Hook          // nil: all that are advertised; others only narrow them
	Config   json.RawMessage // for each invocation; an object, or nil
}

// effective returns the entry with its overrides in place.
func (e Entry) effective() Entry {
	if e.Overrides.Mode != nil {
		e.Mode = *e.Overrides.Mode
	}
	if e.Overrides.FailOpen != nil {
		e.FailOpen = *e.Overrides.FailOpen
	}
	if e.Overrides.Priority != nil {
		e.Priority = *e.Overrides.Priority
	}
	return e
}

// selected reports whether the entry is one for an event.
func (e *Entry) selected(event string, phase Phase) bool {
	narrowed := Descriptor{Hooks: e.Overrides.Hooks}
	return e.covers(event, phase) && (e.Overrides.Hooks == nil || narrowed.covers(event, phase))
}

// A Plan is the interceptors of one event, in their order. It is safe for concurrent use.
type Plan struct {
	event                string
	phase                Phase
	mutators, validators []Entry
}

// NewPlan derives the plan for an event from the entries of all hosts, in the configured order of the hosts (Deriving
// the execution plan). Mutators are ordered by priority, then by name, then by host.
func NewPlan(entries []Entry, event string, phase Phase) *Plan {
	p := &Plan{event: event, phase: phase}
	for _, e := range entries {
		switch e = e.effective(); {
		case !e.selected(event, phase):
		case e.Type == Mutation:
			p.mutators = append(p.mutators, e)
		default: // an unknown type fails: no result can have it
			p.validators = append(p.validators, e)
		}
	}
	slices.SortStableFunc(p.mutators, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Priority.of(phase), b.Priority.of(phase)), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// Order returns the names of the mutators in their order, and of the validators.
func (p *Plan) Order() (mutators, validators []string) {
	names := func(all []Entry) (names []string) {
		for _, e := range all {
			names = append(names, e.Name)
		}
		return names
	}
	return names(p.mutators), names(p.validators)
}

// A Step is the outcome of one invocation.
type Step struct {
	Name   string
	Result *Result // nil if the invocation failed
	Err    error   // why it failed
	Blocks bool
}

// An Outcome is the outcome of a plan. The zero Outcome blocks.
type Outcome struct {
	Released bool
	Payload  json.RawMessage // the payload to go on with; nil unless Released
	Steps    []Step          // in the order of the plan, of what was invoked
}

// Run runs the plan. With a ctx that ends, what was not invoked counts as failed (Aggregate deadline). The context and
// metadata of about go with each invocation.
func (p *Plan) Run(ctx context.Context, way Direction, payload json.RawMessage, about Invocation) Outcome {
	if err := rawjson.Check(payload); err != nil {
		return Outcome{Steps: []Step{{Err: fmt.Errorf("the payload: %w", err), Blocks: true}}}
	}
	r := run{Plan: p, about: about, payload: payload}
	passes := []func(context.Context) bool{r.mutate, r.validate}
	if way != Sending {
		slices.Reverse(passes)
	}
	for _, pass := range passes {
		if !pass(ctx) {
			return Outcome{Steps: r.steps}
		}
	}
	return Outcome{Released: true, Payload: r.payload, Steps: r.steps}
}

// A run is a plan on its way.
type run struct {
	*Plan
	about   Invocation
	payload json.RawMessage // committed
	steps   []Step
}

// mutate runs the mutation pass, and commits its payload as a whole.
func (r *run) mutate(ctx context.Context) bool {
	current := r.payload
	for i := range r.mutators {
		e := &r.mutators[i]
		s := r.invoke(ctx, e, current)
		r.steps = append(r.steps, s)
		switch {
		case s.Blocks:
			return false
		case s.Result != nil && e.Mode != Audit && *s.Result.Modified:
			current = s.Result.Payload
		}
	}
	r.payload = current
	return true
}

// validate runs the validation pass: all validators see the same payload, and all are heard.
func (r *run) validate(ctx context.Context) bool {
	steps := make([]Step, len(r.validators))
	var wait sync.WaitGroup
	for i := range r.validators {
		wait.Go(func() { steps[i] = r.invoke(ctx, &r.validators[i], r.payload) })
	}
	wait.Wait()
	r.steps = append(r.steps, steps...)
	return !slices.ContainsFunc(steps, func(s Step) bool { return s.Blocks })
}

// invoke invokes one interceptor, and tells whether that blocks.
func (r *run) invoke(ctx context.Context, e *Entry, payload json.RawMessage) Step {
	s := Step{Name: e.Name}
	s.Result, s.Err = r.ask(ctx, e, payload)
	switch {
	case e.Mode == Audit:
	case s.Err != nil:
		s.Blocks = !e.FailOpen
	case e.Type != Mutation:
		s.Blocks = !*s.Result.Valid && s.Result.Severity != Warn && s.Result.Severity != Info
	}
	return s
}

// ask sends one invocation, and holds its result against it.
func (r *run) ask(ctx context.Context, e *Entry, payload json.RawMessage) (*Result, error) {
	if e.Overrides.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Overrides.Timeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := r.about
	in.Name, in.Event, in.Phase, in.Payload, in.Config = e.Name, r.event, r.phase, payload, e.Overrides.Config
	in.Timeout = e.Overrides.Timeout.Milliseconds()
	params, err := encode(in)
	if err != nil {
		return nil, fmt.Errorf("writing the invocation: %w", err)
	}
	answer, err := e.Invoke(ctx, params)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return readResult(&in, e, answer)
}

// errMalformed is the failure of a result that does not fit its invocation (M1; Mutators).
var errMalformed = errors.New("malformed result")

func readResult(in *Invocation, e *Entry, answer json.RawMessage) (*Result, error) {
	if err := rawjson.Check(answer); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	r := &Result{Interceptor: textOf(answer, "interceptor"), Type: Type(textOf(answer, "type")), Phase: Phase(textOf(answer, "phase"))}
	if r.Interceptor != in.Name || r.Type != e.Type || r.Phase != in.Phase {
		return nil, fmt.Errorf("%w: it is of another invocation", errMalformed)
	}
	r.Info, _ = rawjson.Get(answer, "info")
	switch r.Type {
	case Validation:
		r.Valid = flagOf(answer, "valid")
		r.Severity = severityOf(answer)
		messages, _ := rawjson.Get(answer, "messages")
		for m := range rawjson.Elements(messages) {
			r.Messages = append(r.Messages, Message{textOf(m, "path"), textOf(m, "message"), severityOf(m)})
		}
	case Mutation:
		r.Modified = flagOf(answer, "modified")
		r.Payload, _ = rawjson.Get(answer, "payload")
	}
	switch {
	case r.Valid == nil && (r.Modified == nil || r.Payload == nil):
		return nil, fmt.Errorf("%w: it lacks a member, or its type is unknown", errMalformed)
	case r.Modified != nil && !*r.Modified && !bytes.Equal(rawjson.Canonical(r.Payload), rawjson.Canonical(in.Payload)):
		return nil, fmt.Errorf("%w: another payload that is called unmodified", errMalformed)
	}
	return r, nil
}

func textOf(object json.RawMessage, name string) string {
	raw, _ := rawjson.Get(object, name)
	s, _ := rawjson.String(raw)
	return s
}

func flagOf(object json.RawMessage, name string) *bool {
	raw, _ := rawjson.Get(object, name)
	if v, ok := rawjson.Bool(raw); ok {
		return &v
	}
	return nil
}

// severityOf returns the severity in an object: Error for one that is not known (Validation pass, 1), "" for none.
func severityOf(object json.RawMessage) Severity {
	if _, there := rawjson.Get(object, "severity"); !there {
		return ""
	}
	switch s := Severity(textOf(object, "severity")); s {
	case Info, Warn:
		return s
	}
	return Error
}
