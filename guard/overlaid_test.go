package guard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

const mailOverlay = `
version: 1
overlays:
  - name: mail
    match: [{server: mail}]
    tools:
      send:
        contract: {readOnly: false, destructive: false, openWorld: true, destinations: [public], outcomes: [irreversible], sources: [system], returns: []}
        when:
          - if: host.within(email.domain(call.arguments.to), "corp.example")
            contract: {destinations: [internal], outcomes: [consequential], openWorld: false}
        arguments: {destination: [to], content: [body]}
        resource: {writes: ["mailto:{to}"]}
      read:
        contract: {readOnly: true, openWorld: true, sources: [system], returns: []}
        results:
          - path: $.messages[*].private
            label: {private: true, sensitivity: [pii]}
`

// overlaid returns a call of a tool that its server says nothing of, but the operator does.
func overlaid(t *testing.T, name, arguments string) *guard.Call {
	t.Helper()
	set, err := overlay.Load("mail.yaml", []byte(mailOverlay))
	if err != nil {
		t.Fatal(err)
	}
	said := set.For(overlay.Server{Name: "mail"}).Tool(name)
	return &guard.Call{
		ID: "1", Session: session.Ref{Key: "s", Principal: "ann"}, Server: "mail", Method: "tools/call", Name: name,
		Params: json.RawMessage(`{"arguments":` + arguments + `}`), Arguments: json.RawMessage(arguments),
		Overlay: said, Effective: contract.Overlaid(said.Static(), contract.Contract{}, contract.Untrusted),
	}
}

// raised returns a guard in whose only session something has been read.
func raised(t *testing.T, rules string, l label.Label) (*guard.Guard, *session.Sessions) {
	t.Helper()
	return raisedInto(t, rules, l, record.Discard())
}

func raisedInto(t *testing.T, rules string, l label.Label, to record.Recorder) (*guard.Guard, *session.Sessions) {
	t.Helper()
	p := policy.Default()
	if rules != "" {
		var err error
		if p, err = policy.Load("p.yaml", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	sessions := session.New(session.Options{})
	g, err := guard.New(guard.Options{Policy: p, State: guard.NewState(sessions, to)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sessions.Open(t.Context(), session.Ref{Key: "s", Principal: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Raise(t.Context(), "s", l); err != nil {
		t.Fatal(err)
	}
	return g, sessions
}

func TestOverlayDecidesByArguments(t *testing.T) {
	g, _ := raised(t, "", label.Label{Private: true, Untrusted: true})
	for _, c := range []struct {
		arguments string
		want      policy.Effect
	}{
		{`{"to":"bob@corp.example"}`, policy.Allow},
		{`{"to":"bob@mail.corp.example"}`, policy.Allow},
		{`{"to":"bob@evil.example"}`, policy.Ask},
		{`{"to":"bob@notcorp.example"}`, policy.Ask},
		{`{"to":["bob@corp.example"]}`, policy.Ask}, // no text: the condition cannot be evaluated, and lowers nothing
		{`{}`, policy.Ask},
		{`{"to":"bob@corp.example","subject":"x","options":{}}`, policy.Allow},
		{`{"to":"bob@corp.example","headers":"Bcc: bob@evil.example"}`, policy.Ask}, // it acts, and the overlay does not know of it
		{`{"to":"bob@corp.example","options":{"bcc":"bob@evil.example"}}`, policy.Ask},
	} {
		if v := g.Before(t.Context(), overlaid(t, "send", c.arguments)); v.Effect != c.want {
			t.Errorf("%s: %v %s, want %v", c.arguments, v.Effect, v.Message, c.want)
		}
	}
}

func TestResolveIsBeforeWithoutEffects(t *testing.T) {
	g, sessions := raised(t, "", label.Label{Private: true, Untrusted: true})
	for _, arguments := range []string{`{"to":"bob@corp.example"}`, `{"to":"bob@evil.example"}`} {
		c := overlaid(t, "send", arguments)
		before, err := sessions.Snapshot(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.Resolve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		after, err := sessions.Snapshot(t.Context(), "s")
		if err != nil || after.Calls != before.Calls || !after.Label.Equal(before.Label) || !after.Seen.Equal(before.Seen) {
			t.Errorf("%s: the session is %+v after %+v, %v", arguments, after, before, err)
		}
		if v := g.Before(t.Context(), c); v.Effect != r.Verdict.Effect || v.Rule != r.Verdict.Rule {
			t.Errorf("%s: Resolve says %v by %s, Before %v by %s", arguments, r.Verdict.Effect, r.Verdict.Rule, v.Effect, v.Rule)
		}
		if narrow := !r.Contract.Destinations.Has(contract.Public); narrow != (arguments == `{"to":"bob@corp.example"}`) {
			t.Errorf("%s: %v", arguments, r.Contract)
		}
	}
}

func TestRoles(t *testing.T) {
	g, _ := raised(t, `
version: 1
rules:
  - name: outside
    when: call
    if: call.destinations.exists(d, !host.within(email.domain(d), "corp.example")) || !("mailto:a@corp.example" in call.writes)
    effect: block
`, label.Label{})
	for arguments, want := range map[string]policy.Effect{
		`{"to":"a@corp.example"}`:                         policy.Allow,
		`{"to":["a@corp.example","b@corp.example"]}`:      policy.Allow,
		`{"to":["a@corp.example","b@elsewhere.example"]}`: policy.Block,
		`{"to":"a@corp.example","options":{"bcc":"b"}}`:   policy.Block, // which may be a destination too
	} {
		if v := g.Before(t.Context(), overlaid(t, "send", arguments)); v.Effect != want {
			t.Errorf("%s: %v %s", arguments, v.Effect, v.Message)
		}
	}
	// Nobody says what the arguments of this one are for.
	if v := g.Before(t.Context(), overlaid(t, "read", `{}`)); v.Effect != policy.Block {
		t.Errorf("what is not known counts as harmless: %v", v.Effect)
	}
}

func TestResultRules(t *testing.T) {
	for result, private := range map[string]bool{
		`{"structuredContent":{"messages":[{"private":false}]},"content":[]}`:                                            false,
		`{"structuredContent":{"messages":[{"private":false},{"private":true}]}}`:                                        true,
		`{"content":[{"type":"text","text":"{\"messages\":[{\"private\":true}]}"}]}`:                                     true,
		`{"content":[{"type":"text","text":"{\"messages\":[]}"}]}`:                                                       false,
		`{"content":[{"type":"text","text":"all that there is"}]}`:                                                       true,
		`{"structuredContent":{"messages":[]},"content":[{"type":"text","text":"{\"messages\":[{\"private\":true}]}"}]}`: true,
	} {
		g, sessions := raised(t, "", label.Label{})
		c := overlaid(t, "read", `{}`)
		o := answer(t, g, c, guard.Answer{Result: json.RawMessage(result)})
		state, err := sessions.Snapshot(t.Context(), "s")
		if err != nil || !o.Allowed() || state.Label.Private != private || o.Label.Sensitivity.Has(label.PII) != private {
			t.Errorf("%s: %v %+v %v", result, o.Effect, state.Label, err)
		}
	}
}

func TestOverlayOutranksTheResultOfATrustedServer(t *testing.T) {
	g, _ := raised(t, "", label.Label{})
	set, err := overlay.Load("o.yaml", []byte(
		"version: 1\noverlays: [{name: a, match: [{server: a}], tools: {t: {contract: {sources: [untrustedPublic], returns: [pii]}}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := overlaid(t, "read", `{}`)
	c.Overlay, c.Trust = set.For(overlay.Server{Name: "a"}).Tool("t"), contract.Trusted
	c.Declared = contract.Contract{Sources: contract.Possible(label.UntrustedPublic, label.System), Returns: contract.Possible(label.PII)}
	o := answer(t, g, c, guard.Answer{Result: json.RawMessage(
		`{"content":[],"_meta":{"annotations":{"openWorldHint":false,"returnMetadata":{"source":"system","sensitivity":"none"}}}}`)})
	if !o.Label.Untrusted || !o.Label.Sensitivity.Has(label.PII) {
		t.Errorf("the server's word lowers the operator's: %+v", o.Label)
	}
}

func TestResolved(t *testing.T) {
	recorded := &events{}
	g, err := guard.New(guard.Options{State: guard.NewState(nil, recorded)})
	if err != nil {
		t.Fatal(err)
	}
	c := overlaid(t, "send", `{"to":"bob@corp.example"}`)
	c.Declared = contract.Contract{Destructive: contract.No, Outcomes: contract.Possible(contract.Consequential)}
	worse := contract.Contract{Outcomes: contract.Possible(contract.Irreversible)}
	if err := g.Resolved(t.Context(), c, worse); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"defect"}, recorded.kinds()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	r, err := g.Resolve(t.Context(), c)
	if err != nil || !r.Contract.Outcomes.Has(contract.Irreversible) {
		t.Errorf("what the server says of this very call is lost: %v, %v", r.Contract, err)
	}
}

// openDeclared is a tool that says of itself that it may publish, and that it can say more.
var openDeclared = contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Internal, contract.Public)}

func TestShow(t *testing.T) {
	secret := label.Label{Private: true, Untrusted: true}
	g, _ := raised(t, "", secret)
	open := &guard.Call{
		ID: "1", Session: session.Ref{Key: "s", Principal: "ann"}, Server: "web", Method: "tools/call", Name: "post",
		Params: json.RawMessage(`{}`), Arguments: json.RawMessage(`{"q":"secret"}`), Effective: contract.Pessimistic(),
	}
	if ok, err := g.Show(t.Context(), open); err != nil || ok {
		t.Errorf("an open world is shown arguments of a session with private data: %v %v", ok, err)
	}
	if ok, err := g.Show(t.Context(), overlaid(t, "send", `{"to":"bob@corp.example"}`)); err != nil || !ok {
		t.Errorf("a closed world is not asked: %v %v", ok, err)
	}
	open.Trust, open.Declared = contract.Known, openDeclared
	open.Effective = contract.Effective(openDeclared, contract.Known)
	if ok, err := g.Show(t.Context(), open); err != nil || ok {
		t.Errorf("a known server is shown arguments of a call that would not go out: %v %v", ok, err)
	}
	open.Trust = contract.Trusted
	if ok, err := g.Show(t.Context(), open); err != nil || !ok {
		t.Errorf("a trusted server is not asked what it would do: %v %v", ok, err)
	}
	open.Held = "changed"
	if ok, err := g.Show(t.Context(), open); err != nil || ok {
		t.Errorf("a server whose tool is held is asked: %v %v", ok, err)
	}
}

// A question says which refinements apply to the call's arguments; one about what the server asks then does not.
func TestQuestionSaysWhyAnOverlayRefines(t *testing.T) {
	const askAlways = "version: 1\nrules:\n" +
		"  - {name: ask-call, when: call, if: \"true\", effect: ask, message: sure}\n" +
		"  - {name: ask-result, when: result, if: \"true\", effect: ask, message: sure}\n"
	g, _ := raised(t, askAlways, label.Label{})
	const why = `host.within(email.domain(call.arguments.to), "corp.example")`
	for _, c := range []struct {
		arguments string
		fired     int
		failed    bool
	}{
		{`{"to":"bob@corp.example"}`, 1, false},
		{`{"to":"bob@evil.example"}`, 0, false},
		{`{"to":["bob@corp.example"]}`, 1, true},
	} {
		call := overlaid(t, "send", c.arguments)
		q := g.Before(t.Context(), call).Question
		if len(q.Refined) != c.fired || c.fired > 0 && (q.Refined[0].Why != why || q.Refined[0].Entry != "mail" || (q.Refined[0].Failed != "") != c.failed) {
			t.Errorf("%s: %+v", c.arguments, q.Refined)
		}
		inquiry := call.Inquiry(guard.Elicitation, json.RawMessage(`{"message":"name?"}`))
		o := g.Ask(t.Context(), inquiry)
		if o.Question == nil || o.Question.Refined != nil {
			t.Errorf("%s: the server's question: %+v", c.arguments, o.Question)
		}
	}
}

// TestShowWithCredentials holds that to resolve a call is egress as the call is, at every level of trust but the highest.
func TestShowWithCredentials(t *testing.T) {
	for trust, want := range map[contract.Trust]bool{contract.Untrusted: false, contract.Known: false, contract.Trusted: true} {
		for _, declared := range []contract.Contract{openDeclared, {Destinations: contract.Possible(contract.Public)}, {}} {
			g, _ := raised(t, "", label.Label{})
			c := &guard.Call{
				ID: "1", Session: session.Ref{Key: "s", Principal: "ann"}, Server: "vault", Trust: trust, Method: "tools/call", Name: "post",
				Params: json.RawMessage(`{"arguments":{"q":"x"}}`), Arguments: json.RawMessage(`{"q":"x"}`),
				Declared: declared, Effective: contract.Effective(declared, trust),
			}
			if v := g.Before(t.Context(), c); !v.Allowed() {
				t.Fatalf("the clean session: %+v", v)
			}
			secret := *c
			secret.Effective = contract.Contract{Returns: contract.Possible(label.Credentials), Sources: contract.Possible(label.Internal), OpenWorld: contract.No}.Assume()
			if o := answer(t, g, &secret, guard.Answer{Result: json.RawMessage(`{"content":[]}`)}); !o.Allowed() {
				t.Fatalf("the secret: %+v", o)
			}
			if ok, err := g.Show(t.Context(), c); err != nil || ok != want {
				t.Errorf("%s, %v: shown %v, want %v: %v", trust, declared, ok, want, err)
			}
			if v := g.Before(t.Context(), c); v.Effect != policy.Ask {
				t.Errorf("%s, %v: the call itself: %+v", trust, declared, v)
			}
		}
	}
}

// TestShowIsCharged holds that a server learns no more by being shown calls than by the calls, and that a call of which it was shown the
// arguments tells it nothing twice.
func TestShowIsCharged(t *testing.T) {
	search := contract.Contract{
		ReadOnly: contract.Yes, Destructive: contract.No, OpenWorld: contract.Yes, Sources: contract.Possible(label.UntrustedPublic),
		Destinations: contract.Possible(contract.Public), Outcomes: contract.Possible(contract.Benign),
	}.Assume()
	destructive := contract.Contract{Destructive: contract.Yes}
	tried := func(show, refuse bool) (shown, gone int) {
		var events bytes.Buffer
		g, sessions := raisedInto(t, "", label.Label{Private: true, Untrusted: true}, record.NewLines(&events))
		for n := range 40 {
			c := &guard.Call{
				ID: fmt.Sprint(n), Session: session.Ref{Key: "s", Principal: "ann"}, Server: "web", Method: "tools/call", Name: fmt.Sprint("news", n),
				Params: json.RawMessage(`{"arguments":{}}`), Arguments: json.RawMessage(`{}`), Effective: search,
			}
			if show {
				ok, err := g.Show(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					shown++
				}
				if ok && refuse {
					c.Resolved = &destructive
				}
			}
			if g.Before(t.Context(), c).Allowed() {
				gone++
			}
		}
		if n := strings.Count(events.String(), `"effect":"shown"`); n != shown {
			t.Errorf("%d calls were shown, %d recorded", shown, n)
		}
		if s, err := sessions.Snapshot(t.Context(), "s"); err != nil || int(s.Calls) != max(shown, gone) {
			t.Errorf("%+v, %v: %d calls were shown, and %d went", s, err, shown, gone)
		}
		return shown, gone
	}
	_, plain := tried(false, false)
	if plain == 0 || plain > 8 {
		t.Fatalf("without being shown %d calls go", plain)
	}
	if shown, gone := tried(true, false); shown != plain || gone != plain {
		t.Errorf("%d are shown and %d go, want %d", shown, gone, plain)
	}
	if shown, gone := tried(true, true); shown != plain || gone != 0 {
		t.Errorf("refused: %d are shown and %d go, want %d and none", shown, gone, plain)
	}
}

// TestOptionsOfPrograms holds that no entry calls harmless a call whose arguments a program may take for options, where
// the entry says that its server starts programs.
func TestOptionsOfPrograms(t *testing.T) {
	for _, mark := range []bool{true, false} {
		set, err := overlay.Load("p.yaml", fmt.Appendf(nil, `
version: 1
overlays:
  - name: p
    commandLine: %v
    match: [{server: mail}]
    tools:
      show:
        contract: {readOnly: true, openWorld: false, destinations: [internal], outcomes: [benign], sources: [system], returns: []}
        arguments: {destination: [name], content: [note]}
`, mark))
		if err != nil {
			t.Fatal(err)
		}
		said := set.For(overlay.Server{Name: "mail"}).Tool("show")
		for arguments, option := range map[string]bool{
			`{"name":"web-1"}`: false, `{"name":"x","note":"--y"}`: false, `{"name":"--server=https://evil.example"}`: true,
			`{"kind":"-fhttps://evil.example"}`: true, `{"group":"x --server=y"}`: true, `{"list":["a","-o"]}`: true, `{"o":{"--x":1}}`: true, `{"--x":1}`: true,
		} {
			g, _ := raised(t, "", label.Label{Untrusted: true, Private: true}.Normal())
			c := overlaid(t, "send", arguments)
			c.Name, c.Overlay, c.Effective = "show", said, contract.Overlaid(said.Static(), contract.Contract{}, contract.Trusted)
			c.Trust = contract.Trusted
			if v := g.Before(t.Context(), c); (v.Effect == policy.Ask) != (option && mark) {
				t.Errorf("marked %v, %s: %s by %q", mark, arguments, v.Effect, v.Rule)
			}
		}
	}
}
