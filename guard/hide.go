package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// Rules that a decision names when no rule of the policy made it.
const (
	RuleHidden = "weir:hidden" // the operator has results of the tool hidden, or the call used hidden values
	RuleLooked = "weir:looked" // the agent was told as much of hidden values as it may be
)

// MetaValue is the member of a result's _meta with the name of the value that is hidden in its place.
const MetaValue = ownMeta + "value"

// Own is the name of the server of Weir's own tools. It is no name that a server may have.
const Own = "weir:"

// Families of agent sessions share their hidden values. A family has at most so many generations.
const maxGenerations = 64

// Hidden is the values that agents were not shown. It is safe for concurrent use.
type Hidden struct {
	vault *vault.Vault // nil: nothing can be hidden
	hides bool         // whether results can be: see [Options.CannotHide]
	setup setup
	state State
	guard *Guard
	isolation
	probes   probes // of expansions
	ventures ventures
}

// family returns the space of a session's values: that of the session above all others.
func (h *Hidden) family(ctx context.Context, ref session.Ref) (vault.Space, error) {
	state, err := h.state.Sessions().Peek(ctx, ref)
	for range maxGenerations {
		if err != nil {
			return vault.Space{}, fmt.Errorf("reading the agent session: %w", err)
		}
		if state.Parent == "" {
			return vault.Space{Owner: ref.Principal, Key: state.Key}, nil
		}
		state, err = h.state.Sessions().Peek(ctx, session.Ref{Key: state.Parent, Principal: ref.Principal})
	}
	return vault.Space{}, errors.New("reading the agent session: it has too many above it")
}

// looked returns the bits of hidden values that the agent was told, with those of the request, for a policy that goes by
// them.
func (h *Hidden) looked(ctx context.Context, r *request, by *rules) (int, error) {
	if h.vault == nil || !by.looks() {
		return 0, nil
	}
	key, err := h.family(ctx, r.Session)
	if err != nil {
		return 0, err
	}
	return h.vault.Looked(ctx, key)
}

// steered returns the label of a call that goes to a number or a choice which a look told of untrusted text: an author
// of that text chose it. Where the operator does not say which arguments are destinations, any may be one.
func (h *Hidden) steered(ctx context.Context, r *request) (label.Label, error) {
	if h.vault == nil || r.Server == Own || r.Arguments == nil && r.Undeclared.Params == nil || h.vault.Quiet() {
		return label.Label{}, nil
	}
	keys, err := h.spaces(ctx, r.Session, r.Above)
	if err != nil {
		return label.Label{}, err
	}
	texts := []string{string(r.Undeclared.Params)}
	if !r.roles.Known || r.roles.Cut || r.anything() != "" {
		texts = append(texts, string(r.Arguments))
	}
	for _, to := range r.roles.Destinations {
		texts = append(texts, to.Text)
	}
	for _, key := range keys {
		for _, text := range texts {
			if named, err := h.vault.Names(ctx, key, text); named || err != nil {
				return untrusted(), err
			}
		}
	}
	return label.Label{}, nil
}

// Use says that results may be hidden from now on, here or by another process with the same store.
func (h *Hidden) Use() {
	if h.vault != nil {
		h.vault.Use()
	}
}

// Told notes the answer to a look, before the agent is told it: see [Hidden.steered].
func (h *Hidden) Told(ctx context.Context, ref session.Ref, v vault.Value, as vault.Type, answer json.RawMessage) error {
	if !v.Label.Untrusted || as != vault.Integer && as != vault.Number && as != vault.OneOf {
		return nil
	}
	key, err := h.family(ctx, ref)
	if err != nil {
		return err
	}
	return h.vault.Told(ctx, key, answer)
}

// takes reports whether an answer can be hidden: a host has to take a handle in its place, and nothing may be asked in it.
func (h *Hidden) takes(in *result) bool {
	r := in.request
	if !h.hides || r.asked || r.Server == Own || r.Method != "tools/call" && r.Method != "resources/read" {
		return false
	}
	plain := true
	rawjson.Select(in.answer.Result, []string{"resultType", "inputRequests", "requestState", "task"}, func(name string, value []byte) bool {
		kind, _ := rawjson.String(value)
		plain = plain && name == "resultType" && kind == "complete"
		return true
	})
	return plain && (in.answer.Error == nil || r.Method == "tools/call")
}

// used returns the sources of the hidden values in the arguments.
func (r *request) used() (all []Origin) {
	for i := range r.Uses {
		v := &r.Uses[i]
		from := Call{Server: v.Server, Name: v.Tool}
		all = join(all, Origin{URI: from.URI(), Label: withoutAlerts(v.Label).Taint()})
	}
	return all
}

// hiding returns a decision on an answer as far as it concerns hiding. The answer to a call that used hidden values may hold them, so it
// is hidden too; one that cannot be hidden is asked about; one that the agent has or asks to see is decided by the other rules.
func (in *decisionInput) hiding(by *rules, d decision) decision {
	r := in.request
	switch {
	case in.facts.Response == nil:
		return d
	case r.revealing != nil || in.seen:
		return decision{d.Revealed(by.policy.Fallback()), d.by}
	case d.Effect > policy.Hide && r.Server != Own && (r.Hide || len(r.Uses) > 0):
		d.Effect, d.Rule = policy.Hide, RuleHidden
		if d.Message = "results of this tool are hidden"; len(r.Uses) > 0 {
			d.Message = "the result of a call with hidden values may hold them"
		}
	}
	if d.Effect == policy.Hide && !in.hideable() {
		d.Effect = policy.Ask
		d.Message += "; this cannot be hidden, so a person is asked"
	}
	return d
}

// hide keeps an answer in the vault, and returns what the agent gets in its place. The agent session, whose label is seen, rises as by a
// typed answer, since size, types and failure are told: it is as private as the answer then. It has read no text, so no orders.
func (h *Hidden) hide(ctx context.Context, in *result, v *ruling, seen label.Label) Outcome {
	r, a := in.request, in.answer
	key, err := h.family(ctx, r.Session)
	if err != nil {
		return Withheld(err)
	}
	kept := label.Join(in.label, raisesAlert(r, in.search.alert))
	if opaque(kept) {
		kept = label.Join(kept, r.actor()) // with alerts: no search of the answer finds them again
	}
	var output json.RawMessage
	if !opaque(in.label) {
		if output = r.Output; output == nil {
			output = json.RawMessage("{}")
		}
	}
	value, err := h.vault.Put(ctx, key, vault.Value{
		Server: r.Server, Method: r.Method, Tool: r.Name, Arguments: r.Arguments, Result: a.Result, Error: a.Error,
		Label: kept, Composed: in.composed, Output: output, Setup: h.setup.of(r.Uses),
	})
	if errors.Is(err, vault.ErrTooLarge) { // of which a refusal would tell
		value, err = h.vault.Put(ctx, key, vault.Value{
			Server: r.Server, Method: r.Method, Tool: r.Name, Result: tooLarge, Label: kept, Composed: true,
		})
	}
	if err != nil {
		return Withheld(err)
	}
	h.index(r, a.Raw(), in.label)
	if err := h.told(ctx, r, seen, in.label); err != nil {
		return Withheld(err)
	}
	about := "The result is hidden"
	if value.Failed() {
		about = "The call went wrong, and what its server says of that is hidden"
	}
	o := Outcome{Effect: v.effect, Rule: v.rule, Message: v.message, Value: &value}
	if opaque(in.label) {
		o.Rule, o.Message = RuleHidden, "it may depend on data that a program computed from hidden values, so nothing else is told of it"
		o.Answer = Answer{Result: standIn(r, &value, "The answer, which may tell that the call went wrong, is hidden", "", &o)}
		return o
	}
	o.Answer = Answer{Result: standIn(r, &value, about, value.Shape(r.Output), &o)}
	return o
}

// tooLarge stands for an answer that is too large to be kept.
var tooLarge = json.RawMessage(`{"content":[{"type":"text","text":"The answer was too large to be kept."}],"isError":true}`)

// told raises the session of a request, whose label is seen, as far as size, types and failure tell of hidden data
// with a label.
func (h *Hidden) told(ctx context.Context, r *request, seen, l label.Label) error {
	told := l.Typed()
	told.Malicious = false
	if told.Private {
		told.Attribution = label.SetOf(r.uri)
	}
	return h.guard.raiseBy(ctx, r, seen, told)
}

// Admit raises the agent session of a call of Weir's own as the one in which a value was hidden was raised then: the
// call may tell as much of it.
func (h *Hidden) Admit(ctx context.Context, c *Call, v *vault.Value) error {
	state, err := h.guard.evidence.open(ctx, c)
	if err != nil {
		return err
	}
	named := *c
	named.Uses = []vault.Value{*v}
	return h.told(ctx, h.guard.parse(&named), state.Label, v.Label)
}

// index has the tracer know hidden data, so that it knows it again where a call passes it on.
func (h *Hidden) index(r *request, raw json.RawMessage, l label.Label) {
	if l.Untrusted {
		h.guard.tracer.ExpectUntrusted(r.Session)
	}
	h.guard.tracer.AddResult(r.traced(), raw, l, nil)
}

// standIn returns the result that the agent gets in the place of a hidden one. Shape is
// "" where neither its size nor its failure is told.
func standIn(r *request, v *vault.Value, about, shape string, o *Outcome) json.RawMessage {
	why := o.Refusal()
	text := fmt.Sprintf("%s as value %s (%s). To use it in the arguments of a tool, write %s, or [[%s#/POINTER]] with a JSON pointer for a part "+
		"of it. weir_look tells a number, a boolean, a date or a choice from it; weir_reveal shows it.\n%s",
		about, v.Name, why.Message, v.Handle(), v.Name, shape)
	result := map[string]any{"_meta": map[string]any{MetaVerdict: why, MetaValue: v.Name}}
	uri := "weir://value/" + v.Name
	if r.Method == "resources/read" {
		result["contents"] = []map[string]any{{"uri": r.Name, "mimeType": "text/plain", "text": text}}
		return must(json.Marshal(result))
	}
	link := map[string]any{"type": "resource_link", "uri": uri, "name": v.Name}
	if shape != "" {
		link["size"] = len(v.Text())
	}
	result["content"] = []map[string]any{{"type": "text", "text": text}, link}
	if shape != "" && v.Failed() {
		result["isError"] = true
	}
	return must(json.Marshal(result))
}

// Value returns the hidden value of an agent session that has a name.
func (h *Hidden) Value(ctx context.Context, ref session.Ref, name string) (vault.Value, error) {
	return h.kept(ctx, ref, func(keys []vault.Space) (vault.Value, error) { return h.vault.Get(ctx, name, keys...) })
}

// Find returns the hidden value of an agent session with an ID.
func (h *Hidden) Find(ctx context.Context, ref session.Ref, id string) (vault.Value, error) {
	return h.kept(ctx, ref, func(keys []vault.Space) (vault.Value, error) { return h.vault.Find(ctx, id, keys...) })
}

// kept returns a hidden value out of the spaces of an agent session.
func (h *Hidden) kept(ctx context.Context, ref session.Ref, get func([]vault.Space) (vault.Value, error)) (vault.Value, error) {
	if h.vault == nil {
		return vault.Value{}, vault.ErrUnknown
	}
	keys, err := h.spaces(ctx, ref, nil)
	if err != nil {
		return vault.Value{}, err
	}
	return get(keys)
}

// Derive keeps a part of a hidden value as a value of its own, with the label of the whole.
func (h *Hidden) Derive(ctx context.Context, ref session.Ref, from vault.Value, part json.RawMessage) (vault.Value, error) {
	key, err := h.family(ctx, ref)
	if err != nil {
		return vault.Value{}, err
	}
	if from.Of == "" {
		from.Of = from.ID
	}
	from.Arguments, from.Result, from.Error, from.Output, from.Part = nil, nil, nil, nil, part
	return h.vault.Put(ctx, key, from)
}

// Keep keeps JSON that was computed from hidden values as a value of its own, with the labels of them all. It is a
// part of none of them.
func (h *Hidden) Keep(ctx context.Context, ref session.Ref, tool string, from []vault.Value, part json.RawMessage) (vault.Value, error) {
	var l label.Label
	for i := range from {
		l = label.Join(l, from[i].Label)
	}
	return h.keep(ctx, ref, vault.Value{Tool: tool, Setup: h.setup.of(from), Label: asComputed(l), Part: part})
}

// IsOriginal reports whether an agent had no part in a hidden value: a server gave it so, its call used no hidden value,
// and nothing that the call read was written by an earlier one, by resource or by a server that got a hidden value. Only
// of these, and of parts of them, may an operator state a lower label: of any other, the agent may have composed the
// text.
func IsOriginal(v *vault.Value) bool {
	return v.Server != Own && v.Part == nil && !v.Composed && !opaque(v.Label)
}

// Sanitized keeps JSON that a sanitizer made of a hidden value. It has the label that the operator states, if the value
// is one of [IsOriginal] that was hidden under this setup, and else that of the value. The decision on its call has to
// tell of that in [Call.Changes].
func (h *Hidden) Sanitized(
	ctx context.Context, c *Call, from *vault.Value, stated func(label.Label) label.Label, part json.RawMessage,
) (vault.Value, error) {
	l := from.Label
	if IsOriginal(from) && from.Setup == h.setup.by() {
		l = stated(l)
	}
	return h.keep(ctx, c.Session, vault.Value{Tool: c.Name, Setup: from.Setup, Label: l, Part: part})
}

// keep keeps a value that Weir made of others.
func (h *Hidden) keep(ctx context.Context, ref session.Ref, v vault.Value) (vault.Value, error) {
	if h.vault == nil {
		return vault.Value{}, vault.ErrUnknown
	}
	key, err := h.family(ctx, ref)
	if err != nil {
		return vault.Value{}, err
	}
	v.Server, v.Method = Own, "tools/call"
	return h.vault.Put(ctx, key, v)
}

// Reveal decides whether the agent may see a hidden value, as After decides on an answer but without the rules that hide, and, if so,
// raises the agent session by its label. Source is the call that the value answered, as it would be decided now; asking is the request of
// the agent, about which a person is asked.
func (h *Hidden) Reveal(ctx context.Context, asking, source *Call, v vault.Value) Outcome {
	r := h.guard.parse(source)
	r.canonical, r.revealing = newCanonical(asking), asking
	in := result{request: r, answer: Answer{Result: v.Result, Error: v.Error}, kept: withoutAlerts(v.Label)}
	if v.Server == Own || opaque(v.Label) {
		in.heard = heardIn(v.Label)
	}
	if v.Part != nil || v.Method != asking.Method {
		in.answer = Answer{Result: must(json.Marshal(map[string]any{"content": []map[string]any{{"type": "text", "text": v.Text()}}}))}
	}
	return h.guard.result(ctx, in)
}
