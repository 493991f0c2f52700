package overlay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
)

// of returns the description of the tool "t" in an overlay of one entry.
func of(t testing.TB, members string) *overlay.Tool {
	t.Helper()
	return set(t, tool(members)).Named("a").Tool("t")
}

func TestBestName(t *testing.T) {
	o := set(t, head+`    tools:
      "*": {contract: {destinations: [public]}}
      "get_*": {contract: {destinations: [internal]}}
      "*_file": {contract: {destinations: [user]}}
      get_file: {contract: {destinations: [system]}}
      "get_*_file": {contract: {destinations: [ephemeral]}}
`).Named("a")
	for name, want := range map[string]string{
		"get_file": "system", "get_x": "internal", "put_file": "user", "get_a_file": "ephemeral", "get__file": "ephemeral", "x": "public", "": "public",
	} {
		if got := o.Tool(name).Static().Destinations.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := strings.Join(o.Names(), " "); got != "get_file" {
		t.Errorf("names %s", got)
	}
}

func TestNothingIsSaid(t *testing.T) {
	var s *overlay.Set
	var o *overlay.Overlay
	var tool *overlay.Tool
	c, notes := tool.Refine([]byte(`{}`))
	if s.For(overlay.Server{}) != nil || s.Named("") != nil || s.Digest() != "" || o.Tool("x") != nil || o.Names() != nil || overlay.Stack(nil, o) != nil ||
		!c.Equal(contract.Contract{}) || notes != nil || tool.Roles(nil).Known || tool.Resources(nil).Known ||
		!tool.Label(nil).IsZero() || tool.Said() != nil || !o.Equal(nil) {
		t.Error("nil says something")
	}
	if set(t, head+"    tools: {a: {contract: {readOnly: true}}}\n").Named("a").Tool("b") != nil {
		t.Error("something is said of another tool")
	}
}

func TestStack(t *testing.T) {
	first := set(t, head+"    tools: {t: {contract: {readOnly: false}, arguments: {destination: [to]}}}\n")
	second := set(t, head+"    tools: {t: {contract: {readOnly: true, openWorld: false}, arguments: {destination: [x]}, resource: {reads: ['a:{to}']}}}\n")
	o := overlay.Stack(first.Named("a"), second.Named("a"))
	got := o.Tool("t").Static()
	if want := (contract.Contract{ReadOnly: contract.No, OpenWorld: contract.No}); !got.Equal(want) {
		t.Errorf("%v", got)
	}
	roles, resources := o.Tool("t").Roles([]byte(`{"to":"1","x":"2"}`)), o.Tool("t").Resources([]byte(`{"to":"1"}`))
	if len(roles.Destinations) != 1 || roles.Destinations[0].Text != "1" || len(resources.Reads) != 1 {
		t.Errorf("%+v %+v", roles, resources)
	}
	if !o.Equal(overlay.Join(first, second).Named("a")) || o.Equal(overlay.Join(second, first).Named("a")) {
		t.Error("Equal does not see the order")
	}
}

func TestRefine(t *testing.T) {
	tool := of(t, `contract: {readOnly: false, outcomes: [consequential], openWorld: false}, when: [
      {if: 'call.arguments.force == true', contract: {outcomes: [irreversible]}, why: by force},
      {if: 'call.arguments.dry == true', contract: {readOnly: true, outcomes: [benign]}}]`)
	for _, c := range []struct{ arguments, readOnly, outcomes, why string }{
		{`{"force":false,"dry":false}`, "no", "consequential", ""},
		{`{"force":true,"dry":false}`, "no", "irreversible", "by force"},
		{`{"force":false,"dry":true}`, "yes", "benign", "call.arguments.dry == true"},
		{`{"force":true,"dry":true}`, "yes", "benign", "by force, call.arguments.dry == true"},
		{`{}`, "no", "benign, consequential, irreversible", "!by force, !call.arguments.dry == true"},
		{``, "no", "benign, consequential, irreversible", "!by force, !call.arguments.dry == true"},
		{`{"force":{},"dry":"x"}`, "no", "consequential", ""},
		{`{"force":true}`, "no", "benign, irreversible", "by force, !call.arguments.dry == true"},
		{`[`, "no", "benign, consequential, irreversible", "!by force, !call.arguments.dry == true"},
		{`{"force":true,"dry":false,"x":"` + strings.Repeat("x", 1<<16) + `"}`, "no", "benign, consequential, irreversible", "!by force, !call.arguments.dry == true"},
	} {
		got, notes := tool.Refine([]byte(c.arguments))
		var why []string
		for _, n := range notes {
			if n.Failed != "" {
				n.Why = "!" + n.Why
			}
			why = append(why, n.Why)
		}
		if got.ReadOnly.String() != c.readOnly || got.Outcomes.String() != c.outcomes || strings.Join(why, ", ") != c.why || got.OpenWorld != contract.No {
			t.Errorf("%.60s: %v because of %q", c.arguments, got, why)
		}
	}
	if got := tool.Static(); got.ReadOnly != contract.No || got.Outcomes.String() != "benign, consequential, irreversible" {
		t.Errorf("static: %v", got)
	}
}

// TestStaticBounds draws overlays and arguments: no contract for arguments is outside of the tool's contract without
// them.
func TestStaticBounds(t *testing.T) {
	contracts := rapid.SampledFrom([]string{
		"{readOnly: true}", "{readOnly: false, destructive: true}", "{destructive: false, outcomes: [benign]}", "{outcomes: [irreversible]}",
		"{destinations: [internal, public], openWorld: true}", "{destinations: [ephemeral], openWorld: false}", "{returns: []}",
		"{returns: [pii, 'regulated:HIPAA'], sources: [internal]}", "{sources: [untrustedPublic]}", "{idempotent: true, accepts: [user]}",
		"{idempotent: false, requiresReview: true}",
	})
	conditions := rapid.SampledFrom([]string{
		"call.arguments.a == true", "call.arguments.a != true", `call.arguments.b == "x"`, "has(call.arguments.b)", `path.under(call.arguments.b, "/tmp")`,
	})
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		b.WriteString(head + "    tools:\n      t:\n        contract: " + contracts.Draw(rt, "base") + "\n        when:\n")
		for i := range rapid.IntRange(1, 4).Draw(rt, "refinements") {
			fmt.Fprintf(&b, "          - if: '%s'\n            contract: %s\n", conditions.Draw(rt, fmt.Sprint("if ", i)), contracts.Draw(rt, fmt.Sprint("contract ", i)))
		}
		tool := set(t, b.String()).Named("a").Tool("t")
		arguments := rapid.SampledFrom([]string{
			`{}`, `{"a":true}`, `{"a":false,"b":"x"}`, `{"a":true,"b":"/tmp/x"}`, `{"b":1}`, `nonsense`,
		}).Draw(rt, "arguments")
		refined, _ := tool.Refine([]byte(arguments))
		if joined := contract.Join(tool.Static(), refined); !joined.Equal(tool.Static()) {
			rt.Fatalf("%s\n%s makes %v of %v", b.String(), arguments, refined, tool.Static())
		}
	})
}

func TestDraftsOnlyRaise(t *testing.T) {
	src := strings.Replace(tool("contract: {readOnly: true, destructive: true, returns: [pii], outcomes: [irreversible]}, arguments: {destination: [to]}, resource: {reads: [x]}, results: [{path: $.a, label: {private: true}}]"),
		"name: a", "name: a\n    draft: true", 1)
	src = strings.Replace(src, "readOnly: true, destructive: true", "destructive: true, openWorld: false", 1)
	tool := set(t, src).Named("a").Tool("t")
	if !tool.Static().Equal(contract.Contract{}) || tool.Roles([]byte(`{"to":"x"}`)).Known || tool.Resources(nil).Known {
		t.Error("a draft is taken at its word")
	}
	benign := contract.Contract{Destructive: contract.No, OpenWorld: contract.Yes, Outcomes: contract.Possible(contract.Benign), Returns: contract.Possible[label.Class]()}
	got := benign.Raise(tool.Drafted())
	if got.Destructive != contract.Yes || got.OpenWorld != contract.Yes || got.Outcomes.String() != "benign, irreversible" || got.Returns.String() != "pii" {
		t.Errorf("%v", got)
	}
	if l := tool.Label([]byte(`{"structuredContent":{"a":true}}`)); !l.Private {
		t.Errorf("%+v", l)
	}
}

func TestRoles(t *testing.T) {
	tool := of(t, "arguments: {destination: [to, 'mails[*].to', 'list[0]'], content: [body]}")
	got := tool.Roles([]byte(`{"to":["a",{"b":"c","d":7}],"mails":[{"to":"e"},{"x":1},{"to":null}],"list":["f","g"],"body":{"deep":[true,"h"]}}`))
	want := overlay.Roles{Known: true,
		Destinations: []overlay.Argument{{Path: "to[0]", Text: "a"}, {Path: "to[1].b", Text: "c"}, {Path: "to[1].d", Text: "7"}, {Path: "mails[0].to", Text: "e"}, {Path: "list[0]", Text: "f"}},
		Contents:     []overlay.Argument{{Path: "body.deep[0]", Text: "true"}, {Path: "body.deep[1]", Text: "h"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, nothing := range []string{"", "null", "{}", `{"to":[]}`, `7`} {
		if r := tool.Roles([]byte(nothing)); !r.Known || r.Destinations != nil || r.Contents != nil || r.Cut {
			t.Errorf("%s: %+v", nothing, r)
		}
	}
	if r := tool.Roles([]byte(`{"to":[` + strings.Repeat(`"x",`, 5000) + `"y"]}`)); !r.Cut {
		t.Errorf("%d values are not cut", len(r.Destinations))
	}
}

// TestPlain holds that plain roles leave no member unsaid: each name in the arguments stands in a path, or says that an
// address follows, and a path or its address follows in fact.
func TestPlain(t *testing.T) {
	tool := of(t, "arguments: {destination: [to, 'mails[*].to', 'list[0]'], content: [body, mail.subject]}")
	for document, want := range map[string]bool{
		`{}`: true, ``: true, `{"to":"a","body":"b"}`: true, `{"to":["a",{"email":"b"}],"body":["c"],"mail":{"subject":7}}`: true,
		`{"to":null,"mails":[],"body":[]}`: true, `{"mails":[{"to":"a"},{"to":[{"email_address":{"address":"b"}}]}],"list":["a"]}`: true,
		`7`: false, `{"to":{}}`: false, `{"to":{"a":null}}`: false, `{"to":[null]}`: false, `{"to":{"email":""},"x":null}`: false,
		`{"body":{"email":"a"}}`: false, `{"list":["a","b"]}`: false, `{"list":["a",null]}`: false, `{"mail":{"subject":"a","x":[]}}`: false,
		`{"mail":"a"}`: false, `{"mails":{"to":"a"}}`: false, `{"mails":[{"to":"a","x":{}}]}`: false, `{"to":{"email":{}}}`: false, `{"":null}`: false,
	} {
		if got := tool.Roles([]byte(document)).Plain; got != want {
			t.Errorf("%s: %v", document, got)
		}
	}
	said := []string{"to", "mails", "list", "body", "mail", "subject", "email", "address"}
	names := rapid.SampledFrom(append(said, "eve", ""))
	var value func(deep int) *rapid.Generator[any]
	value = func(deep int) *rapid.Generator[any] {
		all := []*rapid.Generator[any]{rapid.SampledFrom([]any{nil, true, 7, "", "x"})}
		if deep > 0 {
			list := rapid.SliceOfN(value(deep-1), 0, 3).AsAny()
			all = append(all, list, rapid.MapOfN(names, value(deep-1), 0, 3).AsAny())
		}
		return rapid.OneOf(all...)
	}
	rapid.Check(t, func(t *rapid.T) {
		arguments := rapid.MapOfN(names, value(3), 0, 4).Draw(t, "arguments")
		document, _ := json.Marshal(arguments)
		r := tool.Roles(document)
		if !r.Plain {
			return
		}
		var all int
		var look func(v any)
		look = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				for name, inner := range v {
					if !slices.Contains(said, name) {
						t.Fatalf("%s is plain", document)
					}
					look(inner)
				}
			case []any:
				for _, inner := range v {
					look(inner)
				}
			case nil:
			default:
				all++
			}
		}
		look(arguments)
		if n := len(r.Destinations) + len(r.Contents); n != all {
			t.Fatalf("%s is plain, with %d of %d values", document, n, all)
		}
	})
}

func TestResources(t *testing.T) {
	for _, c := range []struct{ templates, arguments, want string }{
		{"file://{path}", `{"path":"/a b/ü?#%"}`, "file:///a%20b/%C3%BC%3F%23%25"},
		{"file://{path}", `{"path":"/a/../../etc/./passwd"}`, "file:///etc/passwd"},
		{"file://{path}", `{}`, "file://{path}"},
		{"file://{path}", `{"path":null}`, "file://{path}"},
		{"file://{path?}", `{"path":"/a"}`, "file:///a"},
		{"file://{path?}", `{"path":null}`, ""},
		{"file://{dir}/{name?}", `{"dir":"/a"}`, ""},
		{"file://{dir}/{name?}", `{"name":"b"}`, "file://{dir}/b"},
		{"file://{paths}", `{"paths":["/a","/b"]}`, "file:///a file:///b"},
		{"{url}", `{"url":"https://a.example/x?y=1"}`, "https://a.example/x?y=1"},
		{"repo://{owner}/{repo}/{n}", `{"owner":"a/b","repo":"c","n":12}`, "repo://a/b/c/12"},
		{"x:{a}{b}", `{"a":["1","2"],"b":["3","4"]}`, "x:13 x:14 x:23 x:24"},
		{"x:{a.b}", `{"a":{"b":"{c}"}}`, "x:%7Bc%7D"},
	} {
		got := of(t, "resource: {reads: ['"+c.templates+"']}").Resources([]byte(c.arguments))
		if strings.Join(got.Reads, " ") != c.want || got.Writes != nil {
			t.Errorf("%s with %s: %q", c.templates, c.arguments, got.Reads)
		}
	}
	many := `["` + strings.Repeat(`x","`, 60) + `y"]`
	if got := of(t, "resource: {writes: ['x:{a}/{b}']}").Resources([]byte(`{"a":` + many + `,"b":` + many + `}`)); len(got.Writes) > 64 {
		t.Errorf("%d resources", len(got.Writes))
	}
}

func TestLabel(t *testing.T) {
	tool := of(t, "results: [{path: '$.items[*].private', label: {private: true, sensitivity: [pii]}}, {path: $.kind, equals: [secret, 7, null], label: {untrusted: true, sources: [internal]}}]")
	for _, c := range []struct {
		result             string
		private, untrusted bool
	}{
		{`{"structuredContent":{"items":[{"private":true}]}}`, true, false},
		{`{"structuredContent":{"items":[{"private":false},{}]}}`, false, false},
		{`{"structuredContent":{"items":{"private":true}}}`, false, false},
		{`{"structuredContent":{"kind":"secret"}}`, true, true}, // the source internal is private
		{`{"structuredContent":{"kind":"\u0073ecret"}}`, true, true},
		{`{"structuredContent":{"kind":7}}`, true, true},
		{`{"structuredContent":{"kind":"7"}}`, false, false},
		{`{"structuredContent":{"kind":null}}`, true, true},
		{`{"structuredContent":{"kind":["secret"]}}`, false, false},
		{`{"content":[{"type":"image"},{"type":"text","text":"{\"kind\":\"secret\"}"},{"type":"text","text":"x"}]}`, true, true},
		{`{"contents":[{"uri":"x","text":"{\"kind\":\"public\"}"}]}`, false, false},
		{`{"structuredContent":{},"content":[{"type":"text","text":"{\"kind\":\"secret\"}"}]}`, true, true},
		{`{"content":[{"type":"text","text":"plain"}]}`, true, true},
		{`{"content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]}`, true, true},
		{`{}`, true, true},
		{``, true, true},
	} {
		if l := tool.Label([]byte(c.result)); l.Private != c.private || l.Untrusted != c.untrusted {
			t.Errorf("%s: %+v", c.result, l)
		}
	}
}

// TestManual loads every example of docs/overlays.md that is a whole file.
func TestManual(t *testing.T) {
	data, err := os.ReadFile("../docs/overlays.md")
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, block := range strings.Split(string(data), "\n```yaml")[1:] {
		_, src, _ := strings.Cut(block, "\n") // after the title
		src, _, _ = strings.Cut(src, "\n```")
		if !strings.HasPrefix(src, "version:") {
			continue
		}
		loaded++
		if _, err := overlay.Load(fmt.Sprint("example ", loaded), []byte(src)); err != nil {
			t.Error(err)
		}
	}
	if loaded == 0 {
		t.Error("no examples")
	}
}

// FuzzLoad reads any bytes as a file: it never panics, problems lie inside the file, and a loaded file means the same
// each time.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(tool(`contract: {readOnly: true}, when: [{if: 'path.under(call.arguments.a, "/")', contract: {outcomes: [benign]}}], arguments: {content: [a]}, resource: {reads: ['{a}']}, results: [{path: '$.a[*]', label: {private: true}}]`)), []byte(`{"a":["x"]}`))
	f.Add([]byte("version: 1\noverlays: []\n"), []byte(`{}`))
	f.Fuzz(func(t *testing.T, src, document []byte) {
		s, err := overlay.Load("f", src)
		if err != nil {
			for _, p := range err.(overlay.Errors) {
				if p.Msg == "" || p.Line < 0 || (p.Line > 0) != (p.Col > 0) {
					t.Fatalf("problem %+v", p)
				}
			}
			return
		}
		for _, e := range s.Entries() {
			for _, name := range append(s.Named(e.Name).Names(), "other") {
				tool := s.Named(e.Name).Tool(name)
				c, _ := tool.Refine(document)
				if again, _ := tool.Refine(document); !c.Equal(again) {
					t.Fatalf("%v, then %v", c, again)
				}
				if !contract.Join(tool.Static(), c).Equal(tool.Static()) {
					t.Fatalf("%v is outside of %v", c, tool.Static())
				}
				tool.Roles(document)
				tool.Resources(document)
				if argument, ok := tool.Unspoken(document); ok && tool.Names(argument) {
					t.Fatalf("%q is named", argument)
				}
				tool.Label(document)
			}
		}
	})
}

func BenchmarkRefine(b *testing.B) {
	tool := of(b, `contract: {outcomes: [irreversible]}, when: [{if: 'path.under(call.arguments.path, "/tmp")', contract: {outcomes: [benign]}}]`)
	arguments := []byte(`{"path":"/tmp/x","content":"` + strings.Repeat("text ", 200) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		if c, _ := tool.Refine(arguments); !c.Outcomes.Has(contract.Benign) {
			b.Fatal(c)
		}
	}
}

// TestNames tells which arguments something is said of.
func TestNames(t *testing.T) {
	o := of(t, `contract: {readOnly: false}, when: [{if: 'call.arguments.a == "b" && call.arguments["c-d"].e == 1', contract: {readOnly: true}},
	  {if: 'call.arguments.all(k, k in ["f", "g"]) && "h" in call.arguments', contract: {readOnly: true}},
	  {if: 'call.arguments.exists(name, name in ["i"]) && "x" in ["j"]', contract: {readOnly: true}}],
	  arguments: {destination: ["to[*].address"], content: [text]}, resource: {writes: ['x:{path}']}`)
	for name, want := range map[string]bool{
		"a": true, "c-d": true, "f": true, "g": true, "h": true, "i": true, "j": false,
		"to": true, "text": true, "path": true, "b": false, "e": false, "address": false, "x": false, "to[0].address": false, "": false,
	} {
		if o.Names(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if (*overlay.Tool)(nil).Names("a") {
		t.Error("nil names something")
	}
}

// TestUnspoken tells which arguments act though nothing is said of them.
func TestUnspoken(t *testing.T) {
	const said = `contract: {readOnly: false}, when: [{if: 'call.arguments.all(k, k in ["to", "config"])', contract: {readOnly: true}}],
	  arguments: {destination: [to, options.url], content: [text]}`
	for arguments, want := range map[string]string{
		`{"to":"a","text":"b","options":{"url":"c","more":1},"config":{"a":1}}`: "",
		`{"to":"a","extraHTTPHeaders":"a"}`:                                     "extraHTTPHeaders",
		`{"to":"a","extra":{"a":"b"}}`:                                          "extra",
		`{"to":"a","extra":[1,[{"a":"b"}]]}`:                                    "extra",
		`{"to":"a","extra":"b","amount":3,"force":true,"tags":["a"]}`:           "",
		`{"script":"x"}`: "script", `{"he\u0061ders":"x"}`: "headers", `{"request_headers":"x"}`: "request_headers", `{"launchArgs":["-x"]}`: "launchArgs",
		`{"postUrl":"x"}`: "postUrl", `{"imageURL":"x"}`: "imageURL", `{"URLs":["x"]}`: "URLs", `{"REQUEST_HEADERS":"x"}`: "REQUEST_HEADERS",
		`{"webhookUrl2":"x"}`: "webhookUrl2", `{"CODE":"x"}`: "CODE", `{"env":["A=b"]}`: "env",
		`{"postalCode":"x","profile":"y","squash_option":"z","PROFILE":"x","42":"x","é":"x"}`: "",
		`{"headers":null,"options":{},"config":[],"script":"","url":false,"path":[null,""]}`:  "",
		``: "", `null`: "", `[{"script":"x"}]`: "", `{"":"x","1":"y"}`: "",
	} {
		if name, ok := of(t, said).Unspoken([]byte(arguments)); name != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", arguments, name, want)
		}
	}
	for _, silent := range []*overlay.Tool{nil, of(t, `contract: {readOnly: false}`)} {
		if name, ok := silent.Unspoken([]byte(`{"script":"x"}`)); ok {
			t.Errorf("no parts are stated, and %s is none", name)
		}
	}
}
