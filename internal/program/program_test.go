package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/vault"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		if err := program.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A fake is a host whose tools return fixed documents.
type fake struct {
	documents map[string]string // of a tool
	calls     []program.Call
}

var errTool = errors.New("no such tool")

func (f *fake) Call(_ context.Context, c *program.Call) (program.Value, error) {
	f.calls = append(f.calls, *c)
	doc, ok := f.documents[c.Tool]
	if !ok {
		return program.Value{}, errTool
	}
	return program.Value{ID: c.Tool, Document: json.RawMessage(doc)}, nil
}

func (f *fake) Value(_ context.Context, name string) (program.Value, error) {
	return program.Value{ID: name, Document: json.RawMessage(f.documents[name])}, nil
}

func (f *fake) String() string {
	var b strings.Builder
	for _, c := range f.calls {
		fmt.Fprintf(&b, "%s %s %v\n", c.Tool, c.Arguments, c.Uses)
	}
	return b.String()
}

var tools = []string{"mail", "page", "send"}

func newFake() *fake {
	return &fake{documents: map[string]string{
		"mail": `{"from":"bob@x","n":7,"list":[{"id":1,"t":"a"},{"id":2,"t":"b"}],"ok":true}`,
		"page": `{"text":"hello","n":3}`, "send": `{}`,
	}}
}

func interpret(t testing.TB, source string, f *fake) program.End {
	t.Helper()
	end, err := program.Interpret(context.Background(), &program.Program{Source: source, Tools: tools}, f)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// Calls have the names of the values that may have influenced them, and no others.
func TestUses(t *testing.T) {
	for _, tc := range []struct{ source, calls, result string }{
		{`m = mail()
send(to = "carol")`, "mail {} []\nsend {\"to\":\"carol\"} []\n", "null []"},
		{`m = mail(n = 1)
send(to = m["from"], text = ["x", {"a": m["list"][1]["t"]}])
send(to = "carol")
result = "sent"`, "mail {\"n\":1} []\nsend {\"to\":\"bob@x\",\"text\":[\"x\",{\"a\":\"b\"}]} [mail]\nsend {\"to\":\"carol\"} []\n", `"sent" []`},
		{`m, p = mail(), page()
result = "a " + m["from"] + ", " + p["text"]`, "mail {} []\npage {} []\n", `"a bob@x, hello" [mail page]`},
		{`m = mail()
if m["from"] == "bob@x": send(to = "carol")`, "mail {} []\nsend {\"to\":\"carol\"} [mail]\n", "null [mail]"},
		{`m = mail()
for e in m["list"]: send(id = e["id"])
result = len(m["list"])`, "mail {} []\nsend {\"id\":1} [mail]\nsend {\"id\":2} [mail]\n", "2 [mail]"},
		{`m = mail()
result = "%s|%d|%s" % (m["from"], m["n"], m["ok"])`, "mail {} []\n", `"bob@x|7|True" [mail]`},
		{`result = [e for e in ["bob@x", "ann@x"] if e in [mail()["from"]]]`, "mail {} []\nmail {} [mail]\n", `["bob@x"] [mail]`},
		{`m = mail()
result = {"up": m["from"].upper(), "part": m["from"][0:3], "sum": m["n"] * 2, "int": int(m["n"])}`, "mail {} []\n",
			`{"up":"BOB@X","part":"bob","sum":14,"int":7} [mail]`},
		{`x = hasattr(mail(), "from") or dir(mail()) or type(mail()) == "text"
send(x = x)`, "mail {} []\nmail {} []\nmail {} []\nsend {\"x\":false} []\n", "null []"},
		{`print(mail())
result = sorted([value("page")["n"], 1])`, "mail {} []\n", ``},
		{`result = max([mail()["n"], page()["n"]])`, "mail {} []\npage {} []\n", "7 [mail page]"},
		{`result = call("mail", {"a": 1})["n"]`, "mail {\"a\":1} []\n", "7 [mail]"},
	} {
		f := newFake()
		end := interpret(t, tc.source, f)
		if got := f.String(); got != tc.calls {
			t.Errorf("%s\n  calls %s", tc.source, got)
		}
		if got := fmt.Sprintf("%s %v", end.Result, end.Uses); tc.result != "" && got != tc.result {
			t.Errorf("%s\n  result %s, want %s; %+v", tc.source, got, tc.result, end)
		}
	}
}

// An error names its line; its text is told only where nothing hidden can be in it.
func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		source, message string
		kind            program.Kind
		line            int
		uses            string
	}{
		{"x = 1\ny = ((", "got end of file, want primary expression", program.Syntax, 2, "[]"},
		{"x = nothing", "undefined: nothing", program.Syntax, 1, "[]"},
		{"m = mail()\nsend(x = '[[w48213#/a]]')", "programs have no handles: write value(\"w48213\")", program.Syntax, 2, "[]"},
		{"load('a', 'b')", "load: there are no files", program.Syntax, 0, "[]"},
		{"m = mail()\nfail('no ' + 'way')", "fail: no way", program.Failed, 2, "[]"},
		{"m = mail()\nfail(m)", "", program.Failed, 2, "[mail]"},
		{"m = mail()\nx = {}[read(m['from'])]", "", program.Failed, 2, "[mail]"},
		{"m = mail()\nx = {m: 1}", "a hidden value has no such operation: use read() on it first", program.Failed, 2, "[]"},
		{"m = mail()\nsend(x = m['nope'])", "", program.Hidden, 2, "[mail]"},
		{"m = mail()\nsend(x = 'a' + m['n'])", "", program.Hidden, 2, "[mail]"},
		{"m = mail()\nif m['nope']:\n  send()", "", program.Hidden, 2, "[mail]"},
		{"m = mail()\nresult = m['nope']", "", program.Hidden, 0, "[mail]"},
		{"call('gone')", "no such tool", program.Called, 1, "[]"},
		{"def f():\n  return call('gone')\nread(mail())\nf()", "", program.Called, 2, "[mail]"},
		{"send(x = {1: 2})", "arguments and results are of None, booleans, numbers, texts, lists, tuples and dicts with texts as keys", program.Failed, 1, "[]"},
		{"a = []\na.append(a)\nsend(x = a)", "the value is nested too deeply", program.Failed, 3, "[]"},
		{"for i in range(1000): mail()", "more than 128 calls", program.Bound, 1, "[]"},
		{"while True: pass", "Starlark computation cancelled: the program took too many steps, calls, bytes or too long", program.Bound, 1, "[]"},
		{"def f(): f()\nf()", "function f called recursively", program.Failed, 1, "[]"},
		{strings.Repeat("x", program.MaxSource+1), "it is longer than 65536 bytes", program.Bound, 0, "[]"},
	} {
		end := interpret(t, tc.source, newFake())
		if end.Kind != tc.kind || end.Line != tc.line || end.Message != tc.message || fmt.Sprint(end.Uses) != tc.uses {
			t.Errorf("%.60s\n  %q line %d %q %v", tc.source, end.Kind, end.Line, end.Message, end.Uses)
		}
	}
}

// A process ends within its bounds, whatever the program does, and its values count as read.
func TestProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program.Process{Command: []string{exe, "child"}, Time: 2 * time.Second}
	for name, source := range map[string]string{
		"text":     "m = mail()\nx = 'a' * (1 << 29)\ny = x + x + x",
		"replace":  "m = mail()\nx = ('a' * 1000000).replace('a', 'b' * 1000000)",
		"list":     "m = mail()\nx = list(range(1 << 40))",
		"doubling": "m = mail()\nx = [0]\nfor i in range(40): x = x + x",
		"graph":    "m = mail()\nx = (0,)\nfor i in range(60): x = (x, x)\ny = {x: 1}",
		"printed":  "m = mail()\nx = [0]\nfor i in range(60): x = [x, x]\ny = str(x)",
		"power":    "m = mail()\nx = 3\nfor i in range(60): x = x * x",
		"shift":    "m = mail()\nx = 1 << 511\nfor i in range(1000): x = (x << 511) * x",
	} {
		f := newFake()
		began := time.Now()
		end, err := p.Run(t.Context(), &program.Program{Source: source, Tools: tools}, f)
		if err != nil || end.Kind != program.Bound && end.Kind != program.Failed || time.Since(began) > time.Minute {
			t.Errorf("%s: %+v, %v after %v", name, end, err, time.Since(began))
		}
		if end.Kind == program.Bound && !slices.Equal(end.Uses, []string{"mail"}) {
			t.Errorf("%s: %+v", name, end)
		}
	}
	p.Time = time.Minute
	f := newFake()
	end, err := p.Run(t.Context(), &program.Program{Source: "m = mail()\nsend(to = m['from'])\nresult = value('page')['n']", Tools: tools}, f)
	if err != nil || string(end.Result) != "3" || f.String() != "mail {} []\nsend {\"to\":\"bob@x\"} [mail]\n" {
		t.Errorf("%+v, %v\n%s", end, err, f)
	}
	if end, err = p.Run(t.Context(), &program.Program{Source: strings.Repeat("(", program.MaxSource)}, f); err != nil || end.Kind == "" {
		t.Errorf("%+v, %v", end, err)
	}
}

// Programs are drawn from these expressions and statements; A, B and C stand for expressions, V for a variable.
var (
	expressions = []string{
		`V`, `V`, `V`, `mail()`, `page()`, `value("mail")`, `"lit"`, `3`, `[]`, `{}`, `A["n"]`, `A["from"]`, `A["list"]`, `A[0]`, `A["text"]`,
		`(A + B)`, `("a" + A)`, `(A + "b")`, `(A == B)`, `(A != B)`, `(A < B)`, `(A in [B])`, `(A and B)`, `(A or B)`, `(not A)`, `[A, B]`, `(A, B)`,
		`{"k": A}`, `len(A)`, `str(A)`, `repr(A)`, `type(A)`, `bool(A)`, `read(A)`, `int(A)`, `(A * 2)`, `("%s" % A)`, `"{}".format(A)`, `[x for x in A]`,
		`[x for x in [A, B] if x]`, `(A if B else C)`, `hasattr(A, "n")`, `dir(A)`, `sorted([A, B])`, `max(A, B)`, `any([A])`, `all([A, B])`, `list([A])`,
		`dict([("k", A)])`, `list(enumerate([A]))`, `list(zip([A], [B]))`, `reversed([A, B])`, `A.upper()`, `A[1:]`, `tuple([A])`, `hash(A)`, `(lambda y: y)(A)`,
		`getattr(A, "n", B)`, `[A].index(B)`, `"".join([A])`, `min([A], key = lambda y: B)`, `{"k": A}["k"]`, `{A: 1}`, `abs(A)`, `(-A)`, `"a".startswith(A)`,
	}
	statements = []string{
		"V = A", "V = A", "V = A", "send(x = A)", "send(x = A)", "send(x = [A, {'k': B}])", "if A:\n  send(x = B)\nelse:\n  V = C", "for y in A:\n  V = y\n  send(x = V)",
		"for y in [A, B]:\n  if y:\n    V = y", "call('send', {'y': A})", "V = [V]\nV += A", "V = {}\nV.update([('k', A)])", "V = [A]\nV.append(B)\nV.remove(C)", "print(A)",
	}
	variables = []string{"a", "b", "c"}
)

func drawn(t *rapid.T) string {
	var fill func(text string, depth int) string
	fill = func(text string, depth int) string {
		var b strings.Builder
		for i := range len(text) {
			alone := (i == 0 || !letter(text[i-1])) && (i+1 == len(text) || !letter(text[i+1]))
			switch c := text[i]; {
			case alone && c == 'V':
				b.WriteString(rapid.SampledFrom(variables).Draw(t, "variable"))
			case alone && c >= 'A' && c <= 'C' && depth > 0:
				b.WriteString(fill(rapid.SampledFrom(expressions).Draw(t, "expression"), depth-1))
			case alone && c >= 'A' && c <= 'C':
				b.WriteString(rapid.SampledFrom(variables).Draw(t, "variable"))
			default:
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	source := "a = mail()\nb = page()\nc = 'c'\n"
	for range rapid.IntRange(1, 8).Draw(t, "statements") {
		source += fill(rapid.SampledFrom(statements).Draw(t, "statement"), 3) + "\n"
	}
	return source + "result = " + fill("A", 1) + "\n"
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '"' || c == '_' }

// documents are results of the same call as authors may write them.
var documents = []string{
	`{"from":"bob@x","n":7,"list":[1,2],"text":"t"}`, `{"from":"eve@y","n":0,"list":[],"text":""}`, `{"n":-1}`, `[1,"x"]`, `"prose"`, `""`, `3`, `0`, `null`, `true`,
	`{"from":{"n":1},"n":"7","list":{"a":1},"text":["u","v"]}`, `{"from":"bob@x","n":7,"list":["lit","c"],"text":"u"}`,
}

// Whatever a program does, a call without the name of a value, and its place among those before it, do not depend
// on the bytes of the value, except that the program may have ended before it.
func TestNoninterference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := drawn(t)
		f, g := newFake(), newFake()
		secret := rapid.SampledFrom([]string{"mail", "page"}).Draw(t, "secret")
		f.documents[secret], g.documents[secret] = rapid.SampledFrom(documents).Draw(t, "one"), rapid.SampledFrom(documents).Draw(t, "other")
		ends := [2]program.End{}
		for i, h := range []*fake{f, g} {
			var err error
			if ends[i], err = program.Interpret(context.Background(), &program.Program{Source: source, Tools: tools}, h); err != nil {
				t.Fatal(err)
			}
		}
		independent := func(h *fake) (all []string) {
			for _, c := range h.calls {
				if slices.Contains(c.Uses, secret) {
					continue
				}
				all = append(all, fmt.Sprintf("%s %s %v", c.Tool, c.Arguments, c.Uses))
			}
			return all
		}
		one, other := independent(f), independent(g)
		for i := range min(len(one), len(other)) {
			if one[i] != other[i] {
				t.Fatalf("%s\ncall %d is %s or %s, by %s", source, i, one[i], other[i], secret)
			}
		}
		clean := func(e program.End) bool { return !slices.Contains(e.Uses, secret) }
		if clean(ends[0]) && clean(ends[1]) && (string(ends[0].Result) != string(ends[1].Result) || ends[0].Message != ends[1].Message || ends[0].Line != ends[1].Line) {
			t.Fatalf("%s\nends as %+v or %+v, by %s", source, ends[0], ends[1], secret)
		}
		if len(one) != len(other) && clean(ends[0]) && clean(ends[1]) {
			t.Fatalf("%s\n%d calls or %d, by %s", source, len(one), len(other), secret)
		}
	})
}

// No tool takes a name that programs have anyway, whether it is offered as a function or not.
func TestNames(t *testing.T) {
	taken := []string{"call", "value", "print", "read", "result", "if", "for", "lambda", "class", "import", "not", "load", "a.b", "a b", "1a", "", strings.Repeat("a", 65)}
	for name := range starlark.Universe {
		taken = append(taken, name)
	}
	for _, name := range taken {
		if program.IsFunction(name) {
			t.Errorf("%q is a function", name)
		}
	}
	for _, name := range []string{"mail", "read_page", "_x", "True_"} {
		if !program.IsFunction(name) {
			t.Errorf("%q is no function", name)
		}
	}
	f := newFake()
	p := &program.Program{Source: "x = dict(a = len([1]))\nif True and not False: result = x", Tools: taken}
	end, err := program.Interpret(context.Background(), p, f)
	if err != nil || string(end.Result) != `{"a":1}` || len(f.calls) > 0 {
		t.Errorf("%+v, %v\n%s", end, err, f)
	}
}

// A call says where its arguments hold values, and whether any was read before.
func TestPlaces(t *testing.T) {
	f := newFake()
	interpret(t, "m = mail()\nsend(a = m, b = [1, {'k~': m['from']}], c = 'to ' + m['from'], d = 'to')\nsend(d = str(m['n']))\nsend(a = m)", f)
	want := []program.Call{
		{Tool: "mail"}, {Tool: "send", Places: []vault.Place{
			{At: "/a", Value: "mail", Whole: true}, {At: "/b/1/k~0", Value: "mail", Whole: true}, {At: "/c", Value: "mail", Whole: false},
		}},
		{Tool: "send", Read: true}, {Tool: "send", Read: true, Places: []vault.Place{{At: "/a", Value: "mail", Whole: true}}},
	}
	var got []program.Call
	for _, c := range f.calls {
		got = append(got, program.Call{Tool: c.Tool, Places: c.Places, Read: c.Read})
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
