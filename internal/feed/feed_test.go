package feed_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/feed"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

var update = flag.Bool("update", false, "write the golden files")

func item(tb testing.TB, seq int64, e *record.Event) feed.Item {
	tb.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		tb.Fatal(err)
	}
	return feed.Item{Seq: seq, Event: e, Raw: raw}
}

func events() []*record.Event {
	at := time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC)
	return []*record.Event{
		{V: 1, ID: "a", Time: at, Kind: record.Decision, Session: "local/process:x", Principal: "local", Call: "c", Server: "mail",
			Method: "tools/call", Name: "send_email", Phase: "call", Effect: "block", Rule: "no-leaks", Message: "private data would leave",
			Arguments: "sha256:00", Label: &label.Label{Untrusted: true, Private: true}, Facts: json.RawMessage(`{"tool.name":"a=b|c"}`)},
		{V: 1, ID: "b", Time: at, Kind: record.Decision, Server: "files", Method: "tools/call", Name: "read", Phase: "call", Effect: "allow"},
		{V: 1, ID: "c", Time: at, Kind: record.Defect, Server: "a|b=c\\d", Name: "x\ny|act=allow\rz", Message: "m=1|\n\"", Where: "$.a"},
		{V: 1, ID: "d", Time: at, Kind: record.Reload, Effect: "enforce", Message: "added mail"},
	}
}

func TestFormats(t *testing.T) {
	for _, name := range feed.Formats() {
		write, ok := feed.Format(name)
		if !ok {
			t.Fatalf("no format %s", name)
		}
		var got strings.Builder
		for i, e := range events() {
			line, err := write(item(t, int64(i), e))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(string(line), "\n\r") {
				t.Errorf("%s: more than a line: %q", name, line)
			}
			got.Write(append(line, '\n'))
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, ok := feed.Format("xml"); ok {
		t.Error("a format that there is not")
	}
}

// FuzzLines gives every format whatever a server may call itself: it stays one line, and the number of fields of CEF's header
// stays.
func FuzzLines(f *testing.F) {
	f.Add("mail", "send|email", "a=b\nc")
	f.Fuzz(func(t *testing.T, server, name, message string) {
		e := &record.Event{Kind: record.Defect, Server: server, Name: name, Message: message}
		for _, format := range feed.Formats() {
			write, _ := feed.Format(format)
			line, err := write(item(t, 0, e))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(string(line), "\n\r") {
				t.Errorf("%s: %q is more than a line", format, line)
			}
			if format == "cef" {
				plain := strings.NewReplacer(`\\`, "", `\|`, "").Replace(string(line))
				if header, _, _ := strings.Cut(plain, "rt="); strings.Count(header, "|") != 7 {
					t.Errorf("the header of %q", line)
				}
			}
		}
	})
}
