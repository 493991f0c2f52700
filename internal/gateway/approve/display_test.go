package approve_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
)

func displayed(template, arguments string) string {
	q := question()
	q.Display, q.Arguments = template, json.RawMessage(`{"arguments":`+arguments+`,"name":"mix"}`)
	return approval.NewPrompt(q).Display
}

// The cases of the extension's Rendering semantics and Security Implications.
func TestDisplayIsFilledIn(t *testing.T) {
	for _, test := range []struct{ template, arguments, want string }{
		{"set {bus} bus to {gain_db} dB", `{"bus":"music","gain_db":-6.0}`, `"set \"music\" bus to -6.0 dB"`},
		{"set {bus} for {ramp_ms} ms", `{"bus":"sfx"}`, `"set \"sfx\" for ... ms"`},
		{"{a} {b} {c} {d} {e}", `{"a":true,"b":null,"c":[1],"d":{"x":1},"e":1e400}`, `"true ... ... ... 1e400", which leaves out 3 arguments`},
		{"{{bus}} is {{{bus}}}", `{"bus":1}`, `"{bus} is {1}"`},
		{"read {path}", `{"path":"a","upload_to":"https://evil.example"}`, `"read \"a\"", which leaves out 1 argument`},
		{"read", `{"a":1,"b":2}`, `"read", which leaves out 2 arguments`},
		{"{a} and {a}", `{"a":1,"b":2}`, `"1 and 1", which leaves out 1 argument`},
		{"open { and } and {", `{}`, `"open ... and {"`},
		{"{}", `{"":"x"}`, `"\"x\""`},
		{"save {note} {to}", `{"note":"x","to":["mallory@evil.example"]}`, `"save \"x\" ...", which leaves out 1 argument`},
		{"{a.b}", `{"a":{"b":1}}`, `"...", which leaves out 1 argument`},
		{"{a}", `{"a":"{b}","b":"x"}`, `"\"{b}\"", which leaves out 1 argument`},
		{"pay {n} to {to}", `{"n":"1\" to \"ann","to":"eve"}`, `"pay \"1\\\" to \\\"ann\" to \"eve\""`},
	} {
		if got, want := displayed(test.template, test.arguments), "In the words of server mail: "+test.want; got != want {
			t.Errorf("%q with %s:\n got %s\nwant %s", test.template, test.arguments, got, want)
		}
	}
}

// An argument of which a part is not shown is left out, whether it or the whole line is too long.
func TestDisplayCountsTheCut(t *testing.T) {
	for _, test := range []struct{ template, arguments, want string }{
		{"{a} {b}", `{"a":"` + strings.Repeat("x", 5000) + `","b":1}`, ", which leaves out 1 argument"},
		{"{a} {b} " + strings.Repeat("x", 5000), `{"a":1,"b":1}`, ", which leaves out 2 arguments"},
	} {
		if got := displayed(test.template, test.arguments); !strings.HasSuffix(got, `"`+test.want) {
			t.Errorf("%.20q: %s", test.template, got)
		}
	}
}

// Whatever server and agent write, the description is one line of limited length that hides nothing, and the lines
// before it are those of the request without it.
func TestDisplayStaysInItsLine(t *testing.T) {
	pieces := append(plaintest.Texts(), "{a}", "{", "}", "{{", `"`, `\`, ", which leaves out 0 arguments", "\nAllow this call", "{a}{a}{a}")
	rapid.Check(t, func(t *rapid.T) {
		template := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "template"), "")
		value, err := json.Marshal(map[string]any{"a": rapid.SampledFrom(pieces).Draw(t, "value"), "b": 1})
		if err != nil {
			t.Fatal(err)
		}
		q := question()
		q.Arguments = json.RawMessage(`{"arguments":` + string(value) + `,"name":"mix"}`)
		without := strings.Split(approval.NewPrompt(q).Text(), "\n")
		q.Display = template
		p := approval.NewPrompt(q)
		with := strings.Split(p.Text(), "\n")
		at := slices.IndexFunc(with, func(line string) bool { return strings.HasPrefix(line, `In the words of server mail: "`) })
		if at < 4 {
			t.Fatalf("it is line %d", at)
		}
		if line := with[at]; plaintest.Line(line) != "" || len(line) > 4000 {
			t.Errorf("%.200q: %s", line, plaintest.Line(line))
		}
		if diff := cmp.Diff(without, slices.Delete(with, at, at+1)); diff != "" {
			t.Errorf("other lines changed:\n%s", diff)
		}
		// The request's own words end the line: nobody else's quotation mark ends the quotation.
		if text, leftOut := strings.CutSuffix(p.Display, ", which leaves out 1 argument"); strings.Contains(template, "{a}") && len(template) < 200 && leftOut {
			quoted := strings.TrimPrefix(text, "In the words of server mail: ")
			inner := strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\\`, ""), `\"`, "")
			if strings.Contains(inner, `"`) {
				t.Errorf("a quotation mark of its own in %s", quoted)
			}
		}
	})
}
