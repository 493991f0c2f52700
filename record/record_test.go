package record_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

func TestLinesKeepsEachEventOnItsOwnLine(t *testing.T) {
	var buf bytes.Buffer
	lines := record.NewLines(&buf)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			e := record.New(record.Decision, time.Unix(int64(i), 0))
			e.Name = fmt.Sprintf("tool\n%d\u2028<script>", i)
			e.Label = &label.Label{Untrusted: true}
			if err := lines.Record(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	sc := bufio.NewScanner(&buf)
	for sc.Scan() {
		var e record.Event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatalf("line %q: %v", sc.Text(), err)
		}
		if e.V != record.Version || e.ID == "" || !e.Label.Untrusted {
			t.Errorf("event lost members: %s", sc.Text())
		}
		seen[e.Name] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d events of 100 came back", len(seen))
	}
}

func TestEventEncoding(t *testing.T) {
	e := &record.Event{
		V: 1, ID: "a", Time: time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC), Kind: record.Decision, Session: "s", Call: "c",
		Server: "mail", Method: "tools/call", Name: "send_email", Phase: "call", Effect: "ask", Rule: "r",
	}
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"id":"a","time":"2026-11-21T10:00:00.000000005Z","kind":"decision","session":"s","call":"c",` +
		`"server":"mail","method":"tools/call","name":"send_email","phase":"call","effect":"ask","rule":"r"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the wire form changed (-want +got):\n%s", diff)
	}
}

// Lines writes every member of the event as encoding/json does.
func TestLinesWritesJSON(t *testing.T) {
	one := &label.Label{Untrusted: true, Attribution: label.SetOf("mcp://a/b", "\"\u2028<")}
	full := &record.Event{
		V: 1, ID: "a", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Kind: record.Defect, Session: "s", Parent: "p", Principal: "q",
		Call: "c", Server: "d", Method: "e", Name: "n\x00\xff<é>\u2029", Phase: "f", Effect: "g", Decided: "h", Rule: "i",
		Matched: []string{"j", "\n"}, Message: `k"\`, Where: "l", Arguments: "m", Binding: "o", Label: one, Facts: json.RawMessage(`{"session.calls":1}`),
		Content: &record.Content{Salt: "00ff", Answer: "sha256:1", Fields: map[string]json.RawMessage{"/result/b": []byte(`"<"`), "/arguments/a": []byte(`{"b":1}`)},
			Detection: &record.Detection{Findings: []record.Finding{{Kind: "k", Class: label.Credentials, Confidence: "high", Path: "/<a>"}}, Incomplete: "i"},
			Arguments: []byte("secret"), Result: []byte("secret")},
		Evidence: []record.Evidence{{Type: "<t>", Digest: "sha256:0", Canonicalization: "jcs/rfc8785", Ref: "r"}, {Type: "u"}},
	}
	for i, v := 0, reflect.ValueOf(*full); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the event of this test has no %s", v.Type().Field(i).Name)
		}
	}
	var got, want bytes.Buffer
	lines, enc := record.NewLines(&got), json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	for _, e := range []*record.Event{
		full, {}, {Label: one}, {Label: &label.Label{}}, {Label: &label.Label{Readers: label.OnlyReaders("x")}}, {Label: one}, full,
		{Content: &record.Content{Salt: "é\n"}}, {Content: &record.Content{}},
	} {
		if err := errors.Join(lines.Record(t.Context(), e), enc.Encode(e)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("-encoding/json +Lines:\n%s", diff)
	}
}

func BenchmarkLines(b *testing.B) {
	lines := record.NewLines(io.Discard)
	l := &label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic), Attribution: label.SetOf("mcp://a/b", "mcp://a/c")}
	b.ReportAllocs()
	for b.Loop() {
		e := record.New(record.Decision, time.Now())
		e.Session, e.Server, e.Method, e.Name, e.Phase, e.Effect, e.Label = "local/process:x", "a", "tools/call", "b", "call", "allow", l
		if err := lines.Record(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}

type failAfter struct{ n int }

func (f *failAfter) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 3, errors.New("disk full")
	}
	return len(p), nil
}

func TestLinesRefusesAfterATornLine(t *testing.T) {
	lines := record.NewLines(&failAfter{n: 1})
	e := record.New(record.Decision, time.Now())
	for i, want := range []bool{true, false, false} {
		if err := lines.Record(t.Context(), e); (err == nil) != want {
			t.Errorf("event %d: err = %v", i, err)
		}
	}
}

func TestOpenFileClosesATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "events.jsonl")
	for _, write := range []string{"{}\n", `{"v":1,"torn`, "{}\n"} {
		f, err := record.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(write); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{}\n{\"v\":1,\"torn\n{}\n"; string(got) != want {
		t.Errorf("record is %q, want %q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}
