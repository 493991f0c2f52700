package guard_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

var (
	keeps = contract.Contract{
		Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal),
		Outcomes: contract.Possible(contract.Consequential), Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
	}
	holds = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Sources: contract.Possible(label.Internal), Returns: contract.Possible(label.Credentials)}
	looks = contract.Contract{
		ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral),
		Sources: contract.Possible(label.Internal), Returns: contract.Possible[label.Class](),
	}
)

const token = "tok-55-nightingale-harbour"

// at is a call of a tool of a server in a session.
func at(ref session.Ref, server string, declared contract.Contract, arguments, words string) *guard.Call {
	params := `{"arguments":` + arguments + `}`
	if words != "" {
		params = fmt.Sprintf(`{"arguments":%s,"_meta":{"dev.weir/user-message":%q}}`, arguments, words)
	}
	c := call("use", declared, params)
	c.Session, c.Server = ref, server
	return c
}

// TestSecretsDoNotCross holds which calls tell credentials of one server to another: what is read of a vault is not written into
// another server's database unasked, and is written back to the vault.
func TestSecretsDoNotCross(t *testing.T) {
	one := session.Ref{Key: "s", Principal: "p"}
	for _, c := range []struct {
		name      string
		untrusted bool
		server    string
		tool      contract.Contract
		arguments string
		words     string
		want      policy.Effect
	}{
		{"the secret to another server", false, "db", keeps, `{"q":"INSERT ` + token + `"}`, "", policy.Ask},
		{"the secret to another server, as a name", false, "db", keeps, `{"` + token + ` ":1}`, "", policy.Ask},
		{"the secret to another server, as it stands", false, "db", keeps, `{"q":"` + token + `"}`, "", policy.Ask},
		{"the secret to another server that the user names", false, "db", keeps, `{"to":"db","q":"` + token + `"}`, "put it into db", policy.Ask},
		{"the secret back", false, "vault", keeps, `{"q":"` + token + `"}`, "", policy.Allow},
		{"something else to another server", false, "db", keeps, `{"q":"nothing of the kind"}`, "", policy.Allow},
		{"no arguments", false, "db", keeps, `{}`, "", policy.Allow},
		{"the secret to a read that keeps nothing", false, "db", looks, `{"q":"` + token + `"}`, "", policy.Allow},
		{"something else to another server, after a stranger's text", true, "db", keeps, `{"q":"dG9rLTU1LW5pZ2h0aW5nYWxl"}`, "", policy.Ask},
		{"the user's words to another server, after a stranger's text", true, "db", keeps, `{"q":"close number seven"}`, "please close number seven", policy.Allow},
		{"some of the user's words to another server, after a stranger's text", true, "db", keeps, `{"q":"number close seven"}`, "please close number seven", policy.Ask},
		{"something else back, after a stranger's text", true, "vault", keeps, `{"q":"dG9rLTU1LW5pZ2h0aW5nYWxl"}`, "", policy.Allow},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, nil)
			if c.untrusted {
				f.run(t, at(one, "web", fetchPage, `{}`, ""), okResult)
			}
			f.run(t, at(one, "vault", holds, `{}`, ""), textResult(token))
			if v := f.g.Before(t.Context(), at(one, c.server, c.tool, c.arguments, c.words)); v.Effect != c.want {
				t.Errorf("%s by %q: %s, want %s", v.Effect, v.Rule, v.Message, c.want)
			}
		})
	}
}

// TestSecretsOfElsewhere holds that credentials of which nobody knows where they came from count as another server's.
func TestSecretsOfElsewhere(t *testing.T) {
	secret := label.Label{Sensitivity: label.SetOf(label.Credentials)}.Normal()
	back := func(ref session.Ref) *guard.Call { return at(ref, "vault", keeps, `{"q":"`+token+`"}`, "") }
	one, child := session.Ref{Key: "s", Principal: "p"}, session.Ref{Key: "c", Parent: "s", Principal: "p"}
	read := func(t *testing.T, f *fixture, ref session.Ref, server string) {
		f.run(t, at(ref, server, holds, `{}`, ""), textResult(token))
	}
	for name, play := range map[string]func(*testing.T, *fixture) *guard.Call{
		"of two servers": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			read(t, f, one, "other")
			return back(one)
		},
		"from before": func(t *testing.T, f *fixture) *guard.Call {
			if _, _, err := f.sessions.Open(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if _, err := f.sessions.Raise(t.Context(), "s", secret); err != nil {
				t.Fatal(err)
			}
			read(t, f, one, "vault")
			return back(one)
		},
		"after a restart": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			g, err := guard.New(guard.Options{State: guard.NewState(f.sessions, f.events), Approvals: f.accepted})
			if err != nil {
				t.Fatal(err)
			}
			f.g = g
			return back(one)
		},
		"of another process": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			g, err := guard.New(guard.Options{State: guard.NewState(f.sessions, f.events), Approvals: f.accepted})
			if err != nil {
				t.Fatal(err)
			}
			there := &fixture{g: g, events: f.events, accepted: f.accepted, sessions: f.sessions}
			read(t, there, one, "other")
			return back(one)
		},
		"of a session above": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			return back(child)
		},
		"of a session below": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			read(t, f, child, "other")
			return back(one)
		},
		"of definitions": func(t *testing.T, f *fixture) *guard.Call {
			read(t, f, one, "vault")
			shown := at(one, "vault", looks, `{}`, "")
			shown.Context = secret
			f.run(t, shown, okResult)
			return back(one)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			c := play(t, f)
			if r, err := f.g.Resolve(t.Context(), c); err != nil || r.Verdict.Effect != policy.Ask {
				t.Errorf("foreseen %s by %q: %v", r.Verdict.Effect, r.Verdict.Rule, err)
			}
			if v := f.g.Before(t.Context(), c); v.Effect != policy.Ask || v.Rule != "ask-before-credentials-cross" {
				t.Errorf("%s by %q: %s", v.Effect, v.Rule, v.Message)
			}
		})
	}
}

// TestListedResources holds what it is to read a resource: one that its server lists tells no more than which one.
func TestListedResources(t *testing.T) {
	for _, c := range []struct {
		name      string
		trust     contract.Trust
		arguments string
		session   label.Label
		want      policy.Effect
	}{
		{"listed, of a server nobody vouches for", contract.Untrusted, "", label.Label{Untrusted: true}, policy.Allow},
		{"the same, beside private data", contract.Untrusted, "", label.Label{Private: true}, policy.Allow},
		{"the same, beside credentials", contract.Untrusted, "", label.Label{Sensitivity: label.SetOf(label.Credentials)}, policy.Ask},
		{"listed, of a known server, beside credentials", contract.Known, "", label.Label{Sensitivity: label.SetOf(label.Credentials)}, policy.Allow},
		{"made of a template, after a stranger's text", contract.Known, `{"uri":"x:1"}`, label.Label{Untrusted: true}, policy.Ask},
		{"made of a template, beside private data", contract.Known, `{"uri":"x:1"}`, label.Label{Private: true}, policy.Ask},
		{"made of a template of a trusted server, after a stranger's text", contract.Trusted, `{"uri":"x:1"}`, label.Label{Untrusted: true}, policy.Allow},
		{"made of a template, in a clean session", contract.Untrusted, `{"uri":"x:1"}`, label.Label{}, policy.Allow},
	} {
		f := newFixture(t, nil)
		if _, _, err := f.sessions.Open(t.Context(), session.Ref{Key: "s", Principal: "p"}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.sessions.Raise(t.Context(), "s", c.session.Normal()); err != nil {
			t.Fatal(err)
		}
		r := &guard.Call{
			ID: "1", Session: session.Ref{Key: "s", Principal: "p"}, Server: "files", Trust: c.trust, Method: "resources/read", Name: "x:1",
			Params: json.RawMessage(`{"uri":"x:1"}`), Declared: contract.Offered(c.trust),
		}
		r.Effective = contract.Effective(r.Declared, c.trust)
		if c.arguments == "" {
			r.Declared, r.Effective = contract.Contract{}, contract.Overlaid(contract.Reading(), contract.Contract{}, c.trust)
		} else {
			r.Arguments = json.RawMessage(c.arguments)
		}
		if v := f.g.Before(t.Context(), r); v.Effect != c.want {
			t.Errorf("%s: %s by %q, want %s", c.name, v.Effect, v.Rule, c.want)
		}
	}
}
