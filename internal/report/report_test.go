package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

func findings() report.Findings {
	f := report.Findings{
		Tool: "lint", Version: "1.2.3",
		Rules: []report.Rule{{ID: "hidden", Summary: "Text that people do not see", Severity: report.Error}},
		All: []report.Finding{
			{Rule: "missing", Severity: report.Note, Server: "mail", Subject: "send", Message: "says nothing of itself"},
			{Rule: "hidden", Server: "mail", Subject: "evil\x1b[2J\u202e", Message: "holds \U000e0041", Hint: "do not use it"},
			{Rule: "broad", Severity: report.Warning, File: "weir.yaml", Line: 3, Message: "matches everything", Details: []string{"a", "b\nc"}},
		},
	}
	f.Sort()
	return f
}

func TestWrite(t *testing.T) {
	for _, format := range []report.Format{report.Text, report.JSON, report.SARIF} {
		var out bytes.Buffer
		if err := report.Write(&out, format, findings()); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "findings."+string(format))
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if format == report.Text && strings.ContainsAny(out.String(), "\x1b\u202e\U000e0041") {
			t.Error("text of others reaches the terminal as it is")
		}
		if format != report.Text && !json.Valid(out.Bytes()) {
			t.Errorf("%s is no JSON", format)
		}
	}
	if err := report.Write(&bytes.Buffer{}, "html", findings()); err == nil {
		t.Error("an unknown format is taken")
	}
}

func TestWorst(t *testing.T) {
	f := findings()
	if worst, ok := f.Worst(); !ok || worst != report.Error {
		t.Errorf("the worst is %v, %t", worst, ok)
	}
	if _, ok := (&report.Findings{}).Worst(); ok {
		t.Error("nothing has a worst finding")
	}
	for _, word := range []string{"error", "warning", "note"} {
		if s, err := report.ParseSeverity(word); err != nil || s.String() != word {
			t.Errorf("%s is read as %v, %v", word, s, err)
		}
	}
	if _, err := report.ParseSeverity("fatal"); err == nil {
		t.Error("an unknown severity is taken")
	}
}
