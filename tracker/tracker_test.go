package tracker_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/tracker"
)

// member draws a member of JSON, or nothing.
func member(t *rapid.T, name string, values ...string) string {
	if v := rapid.SampledFrom(append(values, "")).Draw(t, name); v != "" {
		return `"` + name + `":` + v + `,`
	}
	return ""
}

func object(members ...string) string {
	return "{" + strings.TrimSuffix(strings.Join(members, ""), ",") + "}"
}

var (
	bools   = []string{"true", "false", `"no"`}
	sources = []string{`"untrustedPublic"`, `"trustedPublic"`, `"internal"`, `["internal","untrustedPublic"]`, `"nowhere"`}
	classes = []string{`"none"`, `"pii"`, `["pii","credentials"]`, `{"regulated":{"scopes":["HIPAA"]}}`, `7`}
)

func returned(t *rapid.T) string {
	if !rapid.Bool().Draw(t, "returns") {
		return ""
	}
	return `"returnMetadata":` + object(member(t, "source", sources...), member(t, "sensitivity", classes...)) + `,`
}

// aTool draws the entry of a tool, with right and wrong values.
func aTool(t *rapid.T) tracker.Tool {
	declared, _ := annotation.ReadTool([]byte(`{"name":"x","annotations":` + object(
		member(t, "readOnlyHint", bools...), member(t, "openWorldHint", bools...), member(t, "privateHint", bools...), returned(t)) + `}`))
	return tracker.Tool{Declared: declared, Trust: contract.Trust(rapid.IntRange(0, 2).Draw(t, "trust"))}
}

// aResult draws a result, with right and wrong annotations of itself and of its content.
func aResult(t *rapid.T) []byte {
	meta := func() string {
		return `"_meta":{"annotations":` + object(member(t, "openWorldHint", bools...), member(t, "privateHint", bools...),
			member(t, "maliciousActivityHint", bools...), member(t, "attribution", `["https://a.example"]`, `[1]`), returned(t)) + `}`
	}
	return []byte(`{"content":[{"type":"text","text":"x",` + meta() + `}],` + meta() + `}`)
}

// A result has at least the label that it has behind the gateway, which takes a part of a trusted server's statement
// where the rest of it is outside of its declaration.
func TestLabelIsAtLeastThatOfTheGuard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool, result := aTool(t), aResult(t)
		g, err := guard.New(guard.Options{State: guard.NewState(nil, record.Discard())})
		if err != nil {
			t.Fatal(err)
		}
		c, err := guard.NewCall(session.Ref{Key: "s", Principal: "ann"}, "files", tool.Trust, "tools/call", json.RawMessage(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		c.Describe(tool.Declared, nil)
		v := g.Before(t.Context(), c)
		if v.Admission == nil {
			t.Fatal(v)
		}
		want := v.Admission.After(t.Context(), guard.Answer{Result: result}).Label.Taint()
		var seen tracker.Tracker
		got, err := seen.Result(tool, result)
		if diff := cmp.Diff(label.Join(want, got.Taint()), got.Taint()); diff != "" || err != nil {
			t.Errorf("of %v, %s: %v\n(-guard +tracker)%s", tool, result, err, diff)
		}
	})
}

// Whatever comes, the label only rises, and every later request says so.
func TestLabelOnlyRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen tracker.Tracker
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			before := seen.Label()
			var entered label.Label
			if rapid.Bool().Draw(t, "file") {
				entered = label.Label{Untrusted: rapid.Bool().Draw(t, "untrusted"), Sources: label.SetOf(label.Internal)}
				seen.Raise(entered)
			} else {
				entered, _ = seen.Result(aTool(t), rapid.SampledFrom([][]byte{aResult(t), nil, []byte(`[`), []byte(`{"a":1,"a":2}`)}).Draw(t, "result"))
			}
			after := seen.Label()
			if !after.Covers(before) || !after.Covers(entered) {
				t.Fatalf("%v and %v became %v", before, entered, after)
			}
			params, err := seen.Request([]byte(`{"name":"x","_meta":{"annotations":{"openWorldHint":false}}}`), true)
			if err != nil {
				t.Fatal(err)
			}
			told, defects := annotation.ReadRequest(params)
			if told.Untrusted != after.Untrusted || !told.Attribution.Equal(after.Attribution) || defects != nil {
				t.Fatalf("%v tells %v %v", after, told, defects)
			}
		}
	})
}

func TestUnreadableDocuments(t *testing.T) {
	for text, malicious := range map[string]bool{
		``: false, `{`: false, `{"a":1,"a":2}`: false, "{\"a\":\"\xff\"}": false, `{} {}`: false, strings.Repeat("[", 100_000): false,
		`{"a":1,"a":{"maliciousActivityHint":true}}`: true, `{"a":1,"a":{"m\u0061liciousActivityHint":true}}`: true,
	} {
		var seen tracker.Tracker
		declared := contract.Reads(label.System).Returning(label.Financial, label.Regulated+":HIPAA")
		tool := tracker.Tool{Declared: declared, Trust: contract.Trusted}
		_, err := seen.Result(tool, []byte(text))
		l := seen.Label()
		all := label.SetOf(append(label.Classes(), label.Regulated+":HIPAA")...)
		if err == nil || !l.Untrusted || !l.Private || !l.Sensitivity.Contains(all) || !l.Sources.Has(label.System) || l.Malicious != malicious {
			t.Errorf("result %.20q: %v, %v", text, l, err)
		}
		mail := tracker.Tool{Declared: contract.Sends(contract.Public).Accepting(label.Unspecified), Trust: contract.Trusted}
		if !slices.Contains(seen.Conflicts(mail), tracker.ClassNotAccepted) {
			t.Errorf("result %.20q goes anywhere", text)
		}
		if params, err := seen.Request([]byte(text), false); err == nil || params != nil {
			t.Errorf("params %.20q: %s", text, params)
		}
	}
}

func TestConflicts(t *testing.T) {
	untrusted, private := label.Label{Untrusted: true}, label.Label{Private: true}
	pii := label.Label{Sensitivity: label.SetOf(label.PII)}
	both := []tracker.Conflict{tracker.UntrustedToPublic, tracker.UntrustedIrreversible}
	trusted := func(c contract.Contract) tracker.Tool { return tracker.Tool{Declared: c, Trust: contract.Trusted} }
	for _, c := range []struct {
		name string
		seen label.Label
		tool tracker.Tool
		want []tracker.Conflict
	}{
		{"nothing seen", label.Label{}, tracker.Tool{}, nil},
		{"a tool of which nothing is known", untrusted, tracker.Tool{}, both},
		{"a trusted server that says nothing", untrusted, trusted(contract.Contract{}), both},
		{"private data, of which nothing is known", private, tracker.Tool{}, []tracker.Conflict{tracker.PrivateToPublic}},
		{"within the organisation", untrusted, trusted(contract.Writes(contract.Internal)), nil},
		{"within the organisation, for good", untrusted, trusted(contract.Sends(contract.Internal)), both[1:]},
		{"public, can be undone", untrusted, trusted(contract.Writes(contract.Public)), both[:1]},
		{"private data stays inside", private, trusted(contract.Sends(contract.Internal)), nil},
		{"the server is known: its word on effects counts", private, tracker.Tool{Declared: contract.Sends(contract.Internal), Trust: contract.Known}, nil},
		{"the server is not trusted", private, tracker.Tool{Declared: contract.Sends(contract.Internal)}, []tracker.Conflict{tracker.PrivateToPublic}},
		{"accepted", pii, trusted(contract.Sends(contract.Internal).Accepting(label.PII)), nil},
		{"nothing is accepted", pii, trusted(contract.Sends(contract.Internal).Accepting()), []tracker.Conflict{tracker.ClassNotAccepted}},
		{"the user's own data", label.Label{Sensitivity: label.SetOf(label.User)}, trusted(contract.Sends(contract.Internal).Accepting()), nil},
		{"accepted by a server that is not trusted", pii, tracker.Tool{Declared: contract.Sends(contract.Internal).Accepting(label.PII)},
			[]tracker.Conflict{tracker.PrivateToPublic}},
	} {
		var seen tracker.Tracker
		seen.Raise(c.seen)
		if diff := cmp.Diff(c.want, seen.Conflicts(c.tool)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A server that is not trusted has every conflict that it has without a declaration.
func TestClaimsOfStrangersOnlyRaise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := aTool(t)
		tool.Trust = contract.Untrusted
		var seen tracker.Tracker
		seen.Raise(label.Label{Untrusted: rapid.Bool().Draw(t, "untrusted"), Private: rapid.Bool().Draw(t, "private")})
		all := map[tracker.Conflict]bool{}
		for _, c := range seen.Conflicts(tool) {
			all[c] = true
		}
		for _, c := range seen.Conflicts(tracker.Tool{}) {
			if !all[c] {
				t.Errorf("%v has no conflict %q", tool, c)
			}
		}
	})
}

func TestConcurrentResults(t *testing.T) {
	var seen tracker.Tracker
	var wg sync.WaitGroup
	for _, class := range label.Classes() {
		wg.Go(func() { seen.Raise(label.Label{Sensitivity: label.SetOf(class)}) })
	}
	wg.Wait()
	if got := seen.Label().Sensitivity; !got.Equal(label.SetOf(label.Classes()...)) {
		t.Error(got)
	}
}
