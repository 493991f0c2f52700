package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// errUnsent says that a call does not go out.
var errUnsent = hosterror.New("values in the call are redacted for its destination, and that could not be done: " +
	"leave them out of names, addresses and encodings")

// names are the classes and rules of findings.
type names map[string]bool

// has reports whether a finding is of one of them.
func (n names) has(f detect.Finding) bool { return n[string(f.Kind)] || n[string(f.Class)] }

// sends returns the classes and rules of findings that no byte of a call may have: those of which one of the
// destinations is possible by the contract of the call. Calls of the host's own tools go out without the guard.
func sends(g *decider, r *request) (redacted names) {
	d := &g.contents.Detection
	if len(d.Sent) == 0 || d.Detector == nil || r.Host || r.Server == Own || g.rules.Load().mode != policy.Enforce {
		return nil
	}
	to, known := r.Effective.Destinations.Known()
	for name, destinations := range d.Sent {
		if !known || slices.ContainsFunc(destinations, to.Has) {
			if redacted == nil {
				redacted = names{}
			}
			redacted[name] = true
		}
	}
	return redacted
}

// outgoing makes a call the one that goes out, with placeholders for the values that are redacted for its destination,
// and returns that, parsed. So all that is decided, asked, bound, traced and recorded is of the bytes that its server
// gets. The text without these values may have another destination: then those that are redacted there are redacted
// too.
func outgoing(g *Guard, c *Call) (*request, error) {
	r := g.parse(c)
	for redacts := sends(&g.decider, r); len(redacts) > 0; {
		sent, err := withoutValues(&g.contents.Detection, c, redacts)
		if err != nil || sent == nil {
			return r, err
		}
		r = g.parse(sent)
		size := len(redacts)
		if maps.Copy(redacts, sends(&g.decider, r)); len(redacts) == size {
			*c = *sent
			break
		}
	}
	return r, nil
}

// withoutValues returns a call without the values that are redacted; nil if it has none.
func withoutValues(d *Detection, c *Call, redacts names) (*Call, error) {
	leaves := leaving(c)
	clean, err := without(d, leaves, redacts.has)
	if err != nil || bytes.Equal(clean, leaves) {
		return nil, err
	}
	if c.Resolved != nil || rawjson.Check(clean) != nil || !sameSubject(c, leaves, clean) { // its server spoke of other bytes, or two names became one
		return nil, errUnsent
	}
	sent := *c
	if sent.before == nil {
		sent.before = c.Params
	}
	if sent.Params, err = withKept(clean, leaves, c.Params); err != nil {
		return nil, err
	}
	sent.Arguments, sent.Written = chosen(&sent), nil
	sent.Undeclared.Params = undeclared(c, sent.Params)
	switch {
	case sent.Fits != nil:
		if sent.Fits(&sent) != nil {
			return nil, errUnsent
		}
	case sent.Schema != nil && sent.Violates == "":
		sent.Violates = "nobody held the call without its values against the input schema"
	}
	return &sent, nil
}

// leaving returns the params of a call as they go to its server, but for the label of the session, and without the
// state that the server gave.
func leaving(c *Call) json.RawMessage {
	out := bareMeta(c, c.Params, label.Label{})
	if c.Further {
		out = rawjson.Delete(out, "requestState")
	}
	return out
}

// withKept returns the params that go out with the members of others that stay: those of _meta that no server is told,
// and the state.
func withKept(clean, leaves, all json.RawMessage) (_ json.RawMessage, err error) {
	if state, ok := rawjson.Get(all, "requestState"); ok {
		if _, leaves := rawjson.Get(leaves, "requestState"); !leaves {
			if clean, err = rawjson.Set(clean, state, "requestState"); err != nil {
				return nil, err
			}
		}
	}
	meta, _ := rawjson.Get(all, "_meta")
	for name, value := range rawjson.Members(meta) {
		if _, leaves := rawjson.Get(leaves, "_meta", name); leaves {
			continue
		}
		if clean, err = rawjson.Set(clean, value, "_meta", name); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

// subjects are the members that say which thing a request or an answer is about. A placeholder there would make it
// another one.
var subjects = []string{"name", "uri", "ref", "task", "taskId", "cursor", "level", "requestState", "action"}

// sameSubject reports whether a call is about the same thing without its values, and has the same answers to questions
// of its server, which were decided one by one.
func sameSubject(c *Call, with, without json.RawMessage) bool {
	same := func(name string) bool {
		a, _ := rawjson.Get(with, name)
		b, _ := rawjson.Get(without, name)
		return bytes.Equal(a, b)
	}
	for _, name := range subjects {
		if !same(name) {
			return false
		}
	}
	return !c.Further || same("inputResponses")
}

// chosen returns the agent's choice in a call whose params are others by now.
func chosen(c *Call) json.RawMessage {
	switch {
	case c.Arguments == nil:
		return nil
	case c.asked:
		return c.Reply(c.Params).Arguments
	}
	return argumentsOf(c.Method, c.Params)
}

// undeclared returns the members of params that MCP does not have, as those that the params of a call had.
func undeclared(c *Call, params json.RawMessage) json.RawMessage {
	if c.Undeclared.Params == nil {
		return nil
	}
	out := json.RawMessage("{}")
	for name, value := range rawjson.Members(params) {
		_, had := rawjson.Get(c.Params, name)
		if _, is := rawjson.Get(c.Undeclared.Params, name); is || !had {
			out, _ = rawjson.Set(out, value, name)
		}
	}
	return out
}

// without returns a text with placeholders for the values that are hidden, until a search finds none.
func without(d *Detection, text json.RawMessage, hides func(detect.Finding) bool) (json.RawMessage, error) {
	for range mostRounds {
		found, err := unsent(d, text, hides)
		if err != nil || len(found) == 0 {
			return text, err
		}
		copies, ok := detect.Copies(text, detect.JSON, found)
		if !ok {
			return nil, errUnsent
		}
		text = detect.Redacted(text, detect.JSON, append(found, copies...))
	}
	return nil, errUnsent
}

// unsent returns the findings in a text that are hidden.
func unsent(d *Detection, text json.RawMessage, hides func(detect.Finding) bool) ([]detect.Finding, error) {
	if len(text) == 0 {
		return nil, nil
	}
	by := d.scan(text, salt{}, detect.Named{})
	if by.failed != "" {
		return nil, errUnsent
	}
	return slices.DeleteFunc(slices.Clone(by.report.Findings), func(f detect.Finding) bool {
		return f.Confidence == detect.Low || !hides(f)
	}), nil
}

// mayLeave looks at the last bytes of a call, those that go out: if a value is left that is redacted for its
// destination, nothing goes.
func mayLeave(g *decider, r *request, params json.RawMessage) error {
	redacts := sends(g, r)
	if len(redacts) == 0 {
		return nil
	}
	if r.Further {
		params = rawjson.Delete(params, "requestState")
	}
	if found, err := unsent(&g.contents.Detection, params, redacts.has); err != nil || len(found) > 0 {
		return errUnsent
	}
	return nil
}

// foundBefore returns the findings in the text that the agent wrote, for the event of a call from which values are
// redacted.
func foundBefore(ctx context.Context, d *Detection, r *request) *record.Detection {
	written := r.Call
	written.Params = r.before
	event := d.search(ctx, r, policy.OnCall, withMeta(&written, canonicalArguments(r.before, r.Further))).event
	if event != nil {
		event.Changed = true
	}
	return event
}

// withMeta returns the canonical params of a call, and behind them the metadata that its server gets, unless that can
// tell nothing.
func withMeta(c *Call, canonical []byte) []byte {
	meta, _ := rawjson.Get(leaving(c), "_meta")
	told := false
	for name, value := range rawjson.Members(meta) {
		told = told || !protocolMeta(c, name, value) || rawjson.Kind(value) == '"' && name == "progressToken"
	}
	if !told {
		return canonical
	}
	out, err := rawjson.Add(slices.Clip(canonical), rawjson.Canonical(meta), "_meta")
	if err != nil { // the params are no object
		return canonical
	}
	return out
}
