package guard_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// Findings in arguments are redacted before a call goes to one of the destinations that the operator names, and only
// then: policy does not see them. If that cannot be done, nothing goes.
func TestArgumentsAreRedactedByDestination(t *testing.T) {
	const key, placeholder = foundKey, "[redacted:aws-access-key-id]"
	inside := keepNote
	unknown := contract.Contract{}
	secrets := guard.Detection{Detector: detect.New(), Sent: map[string][]contract.Destination{"credentials": {contract.Public}}}
	warn := func(o *guard.Options) { o.Mode = policy.WarnOnly }
	for _, c := range []struct {
		name, body string
		declared   contract.Contract
		detection  guard.Detection
		change     func(*guard.Options)
		want       string // "" if the call does not go
	}{
		{"to the public", "key " + key + ".", sendMail, secrets, nil, "key " + placeholder + "."},
		{"within", "key " + key, inside, secrets, nil, "key " + key},
		{"to nobody knows where", "key " + key, unknown, secrets, warn, "key " + key},
		{"nothing", "a line", sendMail, secrets, nil, "a line"},
		{"encoded", base64.StdEncoding.EncodeToString([]byte("key " + key)), sendMail, secrets, nil, ""},
		{"another class", "key " + key, sendMail, guard.Detection{
			Detector: detect.New(), Sent: map[string][]contract.Destination{"financial": {contract.Public}}}, nil, ""},
		{"a broken detector", "a line", sendMail, guard.Detection{Detector: broken{}, Sent: secrets.Sent}, nil, ""},
		{"a broken detector within", "a line", inside, guard.Detection{Detector: broken{}, Sent: secrets.Sent}, nil, "a line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *guard.Options) {
				o.Contents.Detection = c.detection
				if c.change != nil {
					c.change(o)
				}
			})
			params := `{"name":"send_email","arguments":{"to":"a@example.com","body":"` + c.body + `"}}`
			v := f.g.Before(t.Context(), call("send_email", c.declared, params))
			if c.name == "encoded" { // the whole of the encoded form goes
				body, _ := rawjson.Get(v.Params, "arguments", "body")
				if !v.Allowed() || strings.Contains(string(body), c.body[8:]) || !strings.Contains(string(body), placeholder) {
					t.Errorf("got %v with %s", v, v.Params)
				}
				return
			}
			if v.Allowed() != (c.want != "") {
				t.Fatalf("got %v, want %q", v, c.want)
			}
			if !v.Allowed() {
				return
			}
			body, _ := rawjson.Get(v.Params, "arguments", "body")
			to, _ := rawjson.Get(v.Params, "arguments", "to")
			if got, _ := rawjson.String(body); got != c.want || string(to) != `"a@example.com"` {
				t.Errorf("sent %s, want body %s", v.Params, c.want)
			}
		})
	}
}

// The destination may follow from a value: what is redacted there is redacted too.
func TestTheDestinationWithoutValuesCounts(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) {
		o.Contents.Detection = guard.Detection{Detector: detect.NewWith(detect.Options{Canaries: []string{"lea@corp.example"}}), Sent: map[string][]contract.Destination{
			"canary": {contract.Internal}, "credentials": {contract.Public},
		}}
	})
	send := overlaid(t, "send", `{"to":"lea@corp.example","body":"`+foundKey+`"}`)
	v := f.g.Before(t.Context(), send)
	if !v.Allowed() || strings.Contains(string(v.Params), foundKey) || strings.Contains(string(v.Params), "lea@") {
		t.Errorf("got %v with %s", v, v.Params)
	}
	kept := overlaid(t, "send", `{"to":"lea","body":"`+foundKey+`"}`)
	if v := f.g.Before(t.Context(), kept); !v.Allowed() || strings.Contains(string(kept.Arguments), foundKey) {
		t.Errorf("got %v; the call is of %s", v, kept.Arguments)
	}
}

// A call without values is held against the input schema anew, and may do anything if nobody does so.
func TestACallWithoutValuesMayFitNoSchema(t *testing.T) {
	for name, fits := range map[string]func(*guard.Call) error{
		"nobody":   nil,
		"it fits":  func(*guard.Call) error { return nil },
		"not":      func(c *guard.Call) error { c.Violates = "it is too long"; return nil },
		"two ways": func(*guard.Call) error { return errors.New("two members are alike") },
	} {
		f := newFixture(t, func(o *guard.Options) {
			o.Policy = mustLoad(t, askingRules)
			o.Contents.Detection = guard.Detection{Detector: detect.New(), Sent: map[string][]contract.Destination{"credentials": {contract.Internal}}}
		})
		c := call("note", keepNote, `{"name":"note","arguments":{"text":"`+foundKey+`"}}`)
		c.Schema, c.Fits = json.RawMessage(`{"type":"object"}`), fits
		v := f.g.Before(t.Context(), c)
		if name == "two ways" {
			if v.Rule != guard.RuleInternal {
				t.Errorf("%s: %v", name, v)
			}
			continue
		}
		anything := slices.ContainsFunc(v.Question.Refined, func(n overlay.Note) bool { return n.Entry == "input schema" })
		if anything == (name == "it fits") {
			t.Errorf("%s: %v", name, v.Question.Refined)
		}
	}
}

const askingRules = "version: 1\nrules:\n  - {name: ask, when: call, if: 'true', effect: ask, message: m}\n"

// aPEM is a key of which each rule of PEM takes all lines.
var aPEM = "-----BEGIN PRIVATE KEY-----" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x30\x82\x04\xbd0\xfe\x17~\x99q", 12)))

// sentValues are values as an agent may write them in a string of JSON, and a part that must not go.
var sentValues = []struct{ written, value string }{
	{foundKey, foundKey},
	{`\u0041` + foundKey[1:], foundKey[1:]},
	{"anna.schmidt@acme-corp.de", "anna.schmidt@acme-corp.de"},
	{"card 4539 1488 0343 6467", "4539 1488 0343 6467"},
	{"CANARY-7f3a9c1b22", "CANARY-7f3a9c1b22"},
	{`WITH \"a` + aPEM + `\" AS (SELECT 1 AS b) SELECT '-----END\" AS (DELETE FROM users) SELECT 1 --'`, aPEM[27:]},
	{`{\"c\":4539148803436467,\"k\":\"` + foundKey + `\"}`, "4539148803436467"},
}

// sentRequests are params of requests of each kind with a place for a value, and whether the request is about what
// stands there.
var sentRequests = []struct {
	method, params string
	subject        bool
}{
	{"tools/call", `{"name":"t","arguments":{"a":"x VALUE y","n":365,"l":["b",{"c":7}]}}`, false},
	{"tools/call", `{"name":"t","arguments":{"VALUE":1}}`, false},
	{"tools/call", `{"name":"t","arguments":{"a":1},"more":{"x":["VALUE"]}}`, false},
	{"tools/call", `{"name":"t","arguments":{"a":1},"_meta":{"x.y/z":"VALUE","dev.weir/user-message":"VALUE"}}`, false},
	{"tools/call", `{"name":"t","arguments":{"a":1},"_meta":{"annotations":{"attribution":["https://h.example/VALUE"]}}}`, false},
	{"tools/call", `{"name":"VALUE","arguments":{"a":1}}`, true},
	{"prompts/get", `{"name":"t","arguments":{"a":"VALUE"}}`, false},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"t"},"argument":{"name":"q","value":"VALUE"}}`, false},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"t"},"argument":{"name":"q","value":"a"},"context":{"arguments":{"z":"VALUE"}}}`, false},
	{"resources/read", `{"uri":"http://x.test/VALUE"}`, true},
	{"resources/subscribe", `{"uri":"http://x.test/?q=VALUE"}`, true},
	{"notifications/x", `{"q":"VALUE"}`, false},
	{"x/y", `{"q":["VALUE"]}`, false},
	{"resources/x", `{"q":"VALUE","_meta":{"a":1}}`, false},
	{guard.Elicitation, `{"action":"accept","content":{"a":"VALUE"}}`, false},
	{guard.Sampling, `{"role":"assistant","model":"m","content":{"type":"text","text":"VALUE"}}`, false},
	{guard.Roots, `{"roots":[{"uri":"file:///home/a","name":"VALUE"}]}`, false},
}

// sentCall returns the call of a request, as callers of the guard make it.
func sentCall(method, params string, trust contract.Trust, to contract.Destination) *guard.Call {
	declared := contract.Contract{Destinations: contract.Possible(to), Outcomes: contract.Possible(contract.Irreversible)}
	c := call("t", declared, params)
	c.Trust, c.Method = trust, method
	c.Effective = contract.Overlaid(declared, contract.Contract{}, trust)
	if guard.IsInquiry(method) {
		c.Method = "tools/call"
		return c.Inquiry(method, nil).Reply(json.RawMessage(params))
	}
	switch method {
	case "tools/call", "prompts/get":
	case "completion/complete":
		c.Arguments = rawjson.Delete(c.Params, "ref")
	default:
		c.Arguments = rawjson.Delete(c.Params, "_meta")
	}
	return c
}

// Whatever the kind of a request, its server gets the bytes that policy decided on, that a person was asked about, that
// the acceptance is bound to and that the record has, and none of them has a value that is redacted.
func TestWhatGoesIsDecided(t *testing.T) {
	classes := []string{"credentials", "pii", "financial", "canary"}
	scanner := detect.NewWith(detect.Options{Canaries: []string{"CANARY-7f3a9c1b22"}})
	rapid.Check(t, func(rt *rapid.T) {
		request := rapid.SampledFrom(sentRequests).Draw(rt, "request")
		value := rapid.SampledFrom(sentValues).Draw(rt, "value")
		other := rapid.SampledFrom(sentValues).Draw(rt, "other")
		to := rapid.SampledFrom([]contract.Destination{contract.Public, contract.Internal}).Draw(rt, "to")
		trust := rapid.SampledFrom([]contract.Trust{contract.Untrusted, contract.Known, contract.Trusted}).Draw(rt, "trust")
		sent := map[string][]contract.Destination{}
		for _, class := range classes {
			sent[class] = []contract.Destination{to}
		}
		open := func(sent map[string][]contract.Destination) *fixture {
			return newFixture(t, func(o *guard.Options) {
				o.Policy = mustLoad(t, askingRules)
				o.Contents = guard.Contents{All: true, Detection: guard.Detection{Detector: scanner, Sent: sent}}
			})
		}
		params := strings.Replace(strings.ReplaceAll(request.params, "VALUE", value.written), `365`, `"`+other.written+`"`, 1)
		f, c := open(sent), sentCall(request.method, params, trust, to)
		v := f.g.Before(t.Context(), c)
		if v.Effect != policy.Ask {
			if !request.subject || v.Rule != guard.RuleInternal || v.Params != nil {
				rt.Fatalf("%s %s: %v", request.method, params, v)
			}
			return
		}
		f.accepted[v.Question.Binding] = true
		if again := sentCall(request.method, params, trust, to); rapid.Bool().Draw(rt, "again") {
			c = again // the same call of a host that comes back
		}
		went := f.g.Before(t.Context(), c)
		if !went.Allowed() {
			rt.Fatalf("%s: %v", params, went)
		}
		if strings.Contains(string(went.Params), value.value) {
			rt.Fatalf("%s goes out as %s", params, went.Params)
		}
		for _, found := range scanner.Scan(went.Params, detect.JSON, nil).Findings {
			if found.Confidence > detect.Low && slices.Contains(classes, string(found.Class)) {
				rt.Fatalf("%s goes out as %s with %s at %s", params, went.Params, found.Kind, found.Path)
			}
		}
		bare := rawjson.Canonical(rawjson.Delete(went.Params, "_meta"))
		if string(bare) != string(v.Question.Arguments) {
			rt.Fatalf("asked about %s, and sent %s", v.Question.Arguments, bare)
		}
		decisions := slices.DeleteFunc(slices.Clone(f.events.all), func(e *record.Event) bool { return e.Kind != record.Decision })
		last := decisions[len(decisions)-1]
		if string(last.Content.Arguments) != string(bare) {
			rt.Fatalf("recorded %s, and sent %s", last.Content.Arguments, bare)
		}
		plain := open(nil).g.Before(t.Context(), sentCall(request.method, string(went.Params), trust, to)) // of the bytes that went
		if plain.Question == nil || plain.Rule != v.Rule || plain.Question.Binding != v.Question.Binding ||
			!reflect.DeepEqual(plain.Question.Values, v.Question.Values) {
			rt.Fatalf("%s is decided as %v, and the bytes that go as %v", params, v, plain)
		}
	})
}

// A value in a label goes to no other server and, if it is redacted there, to no host.
func TestLabelsCarryNoValues(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) {
		o.Contents.Detection = guard.Detection{Detector: detect.New(), Effects: map[string]guard.FindingEffect{"credentials": guard.Redact}}
	})
	for _, said := range []string{
		`"_meta":{"annotations":{"attribution":["https://h.example/` + foundKey + `"]}}`,
		`"_meta":{"annotations":{"returnMetadata":{"source":"internal","sensitivity":["regulated:` + foundKey + `"]}}}`,
		`"_meta":{"dev.weir/label":{"sensitivity":["regulated:` + foundKey + `"],"readers":["` + foundKey + `"]}}`,
	} {
		o := f.run(t, call("read", contract.Contract{ReadOnly: contract.Yes}, `{"name":"read","arguments":{}}`), `{"content":[],`+said+`}`)
		if !o.Allowed() || strings.Contains(string(o.Answer.Result), foundKey) {
			t.Errorf("the host gets %s", o.Answer.Result)
		}
	}
	for _, meta := range []string{"", `,"_meta":{"other/x":1}`} {
		next := call("note", keepNote, `{"name":"note","arguments":{"text":"x"}`+meta+`}`)
		if v := f.g.Before(t.Context(), next); v.Rule == guard.RuleInternal || strings.Contains(string(v.Params), foundKey) {
			t.Errorf("the server gets %s (%v)", v.Params, v)
		}
	}
}

// A secret in metadata is decided on as one in arguments.
func TestMetadataIsSearched(t *testing.T) {
	for _, trust := range []contract.Trust{contract.Untrusted, contract.Known, contract.Trusted} {
		f := newFixture(t, func(o *guard.Options) { o.Contents.Detection = guard.Detection{Detector: detect.New()} })
		c := call("send_email", sendMail, `{"name":"send_email","arguments":{"to":"a@example.com"},"_meta":{"x.y/z":"`+foundKey+`"}}`)
		c.Trust, c.Effective = trust, contract.Effective(sendMail, trust)
		v := f.g.Before(t.Context(), c)
		if v.Allowed() || strings.Contains(string(v.Params), foundKey) {
			t.Errorf("%v: %v with %s", trust, v, v.Params)
		}
	}
}

// A server that would resolve the contract of a call is not shown arguments that are redacted for it.
func TestNoResolutionOfRedactedArguments(t *testing.T) {
	for _, destinations := range [][]contract.Destination{nil, {contract.Public}} {
		f := newFixture(t, func(o *guard.Options) {
			o.Contents.Detection = guard.Detection{Detector: detect.New()}
			if destinations != nil {
				o.Contents.Detection.Sent = map[string][]contract.Destination{"credentials": destinations}
			}
		})
		may, err := f.g.Show(t.Context(), call("send_email", sendMail, `{"name":"send_email","arguments":{"to":"a@example.com","body":"x"}}`))
		if err != nil || may != (destinations == nil) {
			t.Errorf("with %v: %t, %v", destinations, may, err)
		}
	}
}
