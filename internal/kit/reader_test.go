package kit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/kit"
	"github.com/weir-mcp/weir/internal/rpc"
)

func lines(t testing.TB) []kit.Line {
	t.Helper()
	all, err := kit.Lines()
	if err != nil || len(all) < 900 {
		t.Fatalf("%d lines, %v", len(all), err)
	}
	return all
}

// answers sends the lines through Weir's own reader, as text.
func answers(t testing.TB, lines []kit.Line) []kit.Answer {
	t.Helper()
	var asked, answered bytes.Buffer
	if err := kit.WriteLines(&asked, lines); err != nil {
		t.Fatal(err)
	}
	if err := kit.Reply(&asked, &answered); err != nil {
		t.Fatal(err)
	}
	all, err := kit.ReadAnswers(&answered)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func judge(t testing.TB, asked []kit.Line, answered []kit.Answer) kit.Report {
	t.Helper()
	r, err := kit.Judge(asked, answered)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Weir's own reader and writer keep every vector, and writing again changes nothing.
func TestOwnReader(t *testing.T) {
	asked := lines(t)
	given := answers(t, asked)
	r := judge(t, asked, given)
	for _, one := range r.Checks {
		if one.Verdict != kit.Passed || one.Section == "" || one.Summary == "" {
			t.Errorf("%s: %s, %v", one.ID, one.Verdict, one.Broken)
		}
	}
	if len(r.Checks) < 90 {
		t.Errorf("%d checks", len(r.Checks))
	}
	for i, l := range asked {
		if l.Task == "write" {
			l.Document = given[i].Document
			if again := kit.Own(l); !bytes.Equal(again.Document, given[i].Document) {
				t.Errorf("%s, written again: %s", l.ID, again.Document)
			}
		}
	}
}

// failing returns the ids of the checks with one of the verdicts.
func failing(r kit.Report, verdicts ...kit.Verdict) []string {
	ids := []string{}
	for _, one := range r.Checks {
		if slices.Contains(verdicts, one.Verdict) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// Each fault of a reader breaks exactly the checks of the rule that it breaks.
func TestFaultyReaders(t *testing.T) {
	in := func(l kit.Line, dialect, place string) bool {
		return l.Task == "read" && l.Dialect == dialect && l.Place == place
	}
	no := false
	for name, tc := range map[string]struct {
		fault func(l kit.Line, a *kit.Answer)
		want  []string
	}{
		"does not know the spelling of SEP-2061": {func(l kit.Line, a *kit.Answer) {
			if in(l, "sep-2061", "tool") {
				a.Contract = nil
			}
		}, []string{"read.sep-2061.tool"}},
		"takes no blocks into account": {func(l kit.Line, a *kit.Answer) {
			if in(l, "trust-annotations", "result") && strings.Contains(string(l.Document), `"type"`) {
				a.Label = nil
			}
		}, []string{"read.trust-annotations.result"}},
		"takes absent hints for false": {func(l kit.Line, a *kit.Answer) {
			if in(l, "sep-1487", "tool") && a.Contract["trustedHint"] == nil {
				a.Contract = conformance.Contract{"trustedHint": false}
			}
		}, []string{"read.sep-1487.tool"}},
		"does not notice defects": {func(l kit.Line, a *kit.Answer) {
			if in(l, "ifc", "result") {
				a.Defects = &[]string{}
			}
		}, []string{"defects.ifc.result"}},
		"finds defects in everything": {func(l kit.Line, a *kit.Answer) {
			if in(l, "sep-1913", "request") && len(*a.Defects) == 0 {
				a.Defects = &[]string{"_meta"}
			}
		}, []string{"defects.sep-1913.request"}},
		"gives other paths": {func(l kit.Line, a *kit.Answer) {
			if in(l, "sep-1984", "tool") && len(*a.Defects) > 0 {
				a.Defects = &[]string{"$"}
			}
		}, []string{"paths.sep-1984.tool"}},
		"forgets evidence": {func(_ kit.Line, a *kit.Answer) { a.Evidence = nil }, []string{"evidence.trust-annotations.result"}},
		"reads statements as nothing": {func(l kit.Line, a *kit.Answer) {
			if in(l, "sep-1913", "result") {
				a.Stated = conformance.Contract{}
			}
		}, []string{"stated.sep-1913.result"}},
		"drops unknown members": {func(l kit.Line, a *kit.Answer) {
			if l.Task == "write" && l.Dialect == "mcp" && strings.Contains(string(a.Document), `"x"`) {
				a.Document = json.RawMessage(strings.ReplaceAll(string(a.Document), `"x"`, `"y"`))
			}
		}, []string{"write.mcp.tool"}},
		"accepts names that differ in case": {func(l kit.Line, a *kit.Answer) {
			if l.Task == "message" {
				yes := true
				a.Valid = &yes
			}
		}, []string{"message.reading"}},
		"refuses all messages": {func(l kit.Line, a *kit.Answer) {
			if l.Task == "message" {
				a.Valid = &no
			}
		}, []string{"message.reading"}},
		"has one canonicalization": {func(l kit.Line, a *kit.Answer) {
			if l.Canonicalization == "cbor/rfc8949" {
				none := ""
				a.Digest = &none
			}
		}, []string{"digest.cbor/rfc8949"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := lines(t)
			given := answers(t, asked)
			for i := range given {
				tc.fault(asked[i], &given[i])
			}
			if diff := cmp.Diff(tc.want, failing(judge(t, asked, given), kit.Failed, kit.Warned)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a reader does not do is not applicable, and never passed; answers that are missing are failures.
func TestUnsupported(t *testing.T) {
	asked := lines(t)
	given := answers(t, asked)
	for i, l := range asked {
		if l.Task != "read" {
			given[i] = kit.Answer{ID: l.ID, Unsupported: true}
		} else {
			given[i].Defects, given[i].Stated = nil, nil
		}
	}
	for _, one := range judge(t, asked, given).Checks {
		want := kit.Absent
		if strings.HasPrefix(one.ID, "read.") || strings.HasPrefix(one.ID, "evidence.") {
			want = kit.Passed
		}
		if one.Verdict != want || (want == kit.Absent) != (one.Because != "") {
			t.Errorf("%s: %s, %q", one.ID, one.Verdict, one.Because)
		}
	}
	for _, one := range judge(t, asked, nil).Checks {
		if one.Verdict != kit.Failed || one.Vectors == 0 {
			t.Errorf("without an answer %s has %s", one.ID, one.Verdict)
		}
	}
	for name, odd := range map[string][]kit.Answer{
		"twice":   {{ID: asked[0].ID}, {ID: asked[0].ID}},
		"unknown": {{ID: "x"}},
	} {
		if _, err := kit.Judge(asked, odd); err == nil {
			t.Errorf("an answer that is there %s is taken", name)
		}
	}
}

// TestMain makes this test's program the programs that the tests start.
func TestMain(m *testing.M) {
	switch os.Getenv("WEIR_KIT_PROGRAM") {
	case "":
		os.Exit(m.Run())
	case "reader":
		if err := kit.Reply(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
	case "proxy":
		(&proxy{fault: os.Args[1], relay: os.Args[2], pending: map[string]*rpc.Message{}}).serve()
	case "mcptool":
		if err := serveTools(); err != nil {
			os.Exit(1)
		}
	case "server":
		faulty{os.Args[1]}.serve()
	case "relay":
		if err := kit.Relay(os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
	case "hangs":
		select {}
	case "babbles":
		_, _ = os.Stdout.WriteString("{\"id\":1}\n")
	}
}

func program(name string) kit.Program {
	return kit.Program{Command: []string{os.Args[0]}, Env: append(os.Environ(), "WEIR_KIT_PROGRAM="+name)}
}

func TestAsk(t *testing.T) {
	asked := lines(t)
	given, err := kit.Ask(t.Context(), program("reader"), asked)
	if err != nil || len(failing(judge(t, asked, given), kit.Passed)) < 90 {
		t.Errorf("%d answers, %v", len(given), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if given, err := kit.Ask(ctx, program("hangs"), asked); err != nil || len(given) != 0 {
		t.Errorf("of a reader that hangs: %d answers, %v", len(given), err)
	}
	if _, err := kit.Ask(t.Context(), program("babbles"), asked); err == nil {
		t.Error("a line that is no answer is taken")
	}
	if given, err := kit.Ask(t.Context(), program("ends"), asked); err != nil || len(given) != 0 {
		t.Errorf("of a reader that ends: %d answers, %v", len(given), err)
	}
	if _, err := kit.Ask(t.Context(), kit.Program{Command: []string{"/nowhere"}}, asked); err == nil {
		t.Error("a program that is not there is started")
	}
}

// The schemas of lines and answers, which implementations in other languages go by, are those of the code.
func TestSchemas(t *testing.T) {
	holds := func(name string, documents func(yield func([]byte))) {
		t.Helper()
		raw, ok := conformance.Schema(name)
		if !ok {
			t.Fatalf("no schema of %s", name)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		documents(func(document []byte) {
			var v any
			if err := json.Unmarshal(document, &v); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(v); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
		})
		for _, odd := range []string{`{}`, `{"id":1}`, `{"id":"a","x":1}`} {
			var v any
			if err := json.Unmarshal([]byte(odd), &v); err != nil || resolved.Validate(v) == nil {
				t.Errorf("the schema of %s allows %s", name, odd)
			}
		}
	}
	asked := lines(t)
	given := answers(t, asked)
	holds("line", func(yield func([]byte)) {
		for _, l := range asked {
			yield(marshal(t, l))
		}
	})
	holds("answer", func(yield func([]byte)) {
		for _, a := range append(given, kit.Answer{ID: "x", Unsupported: true}) {
			yield(marshal(t, a))
		}
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// No text that a reader writes harms the kit: it is an error, or the answers can be judged.
func FuzzAnswers(f *testing.F) {
	asked, err := kit.Lines()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"id":"mcp/tool/readOnlyHint is true","contract":{"readOnlyHint":true},"defects":[]}`)
	f.Add(`{"id":"ifc/result/readers","label":{"private":true,"readers":["a"]},"stated":{"x":[[],{"y":null}]},"evidence":[{"type":"t"}]}`)
	f.Add(`{"id":"a","document":{"a":1,"a":2}}` + "\n" + `{"id":"b","digest":null}`)
	f.Add(`{"ID":"a","unsupported":true}`)
	f.Fuzz(func(t *testing.T, text string) {
		given, err := kit.ReadAnswers(strings.NewReader(text))
		if err != nil {
			return
		}
		if r, err := kit.Judge(asked[:40], given); err == nil && len(failing(r, "")) > 0 {
			t.Error("a check has no verdict")
		}
	})
}
