package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// filled returns a value whose texts are all one text.
func filled[T any](text string) (v T) {
	plaintest.Fill(&v, text)
	return v
}

// eventsOf returns events of which everything is a text.
func eventsOf(text string) []console.Event {
	e := console.Event{Event: record.Event{Label: &label.Label{Untrusted: true, Sensitivity: label.SetOf(label.Class(text))}}}
	e.Session, e.Principal, e.Kind, e.Effect, e.Server, e.Name, e.Rule, e.Message = text, text, record.Kind(text), text, text, text, text, text
	return []console.Event{e}
}

// A printer is something that is printed for people, with a text in every field. Its lines may be fewer or more where it quotes the
// text line by line.
type printer struct {
	name  string
	print func(text string, out *bytes.Buffer) error
	lines bool
}

func printers() []printer {
	env := func(out *bytes.Buffer) *home.Env { return &home.Env{Stdout: out, Stderr: out} }
	return []printer{
		{"tools", func(text string, out *bytes.Buffer) error {
			r := filled[app.ToolReport](text)
			r.Contract[0].Name, r.Contract[0].Known, r.Contract[0].From = "readOnly", true, "server"
			_, err := out.WriteString(toolText(r))
			return err
		}, false},
		{"status", func(text string, out *bytes.Buffer) error {
			p := filled[status.Process](text)
			p.Error, p.Servers[0].Disabled = "", false
			printProcess(out, p, time.Now())
			p.Error = text
			printProcess(out, p, time.Now())
			return nil
		}, false},
		{"review", func(text string, out *bytes.Buffer) error {
			r := &serverReview{Server: text, Trust: text, Findings: []report.Finding{{Rule: text, Subject: text, Message: text}}}
			for _, kind := range pins.Kinds() {
				r.Definitions = append(r.Definitions, definitionReview{kind, text, text, []pins.Difference{{Member: text, Before: text, After: text}}})
			}
			_, err := out.WriteString(reviewText([]*serverReview{r}))
			return err
		}, true},
		{"session list", func(text string, out *bytes.Buffer) error {
			return printSessions(env(out), []sessionReport{{Key: text, Parent: text, Principal: text, Label: *eventsOf(text)[0].Label}})
		}, false},
		{"approvals", func(text string, out *bytes.Buffer) error {
			p := &approve.Pending{ID: "ID", Session: text, Principal: text, Binding: text}
			plaintest.Fill(&p.Body, text[:min(len(text), 4000)]) // who asks cuts
			return printQuestions(env(out), []*approve.Pending{p})
		}, true},
		{"audit show", func(text string, out *bytes.Buffer) error {
			row := audit.Row{Salt: []byte{1}, Entry: audit.Entry{Chain: text, Kind: text, Subject: text, Outcome: text, Body: []byte(`{}`)}}
			_, err := out.WriteString(rowText(&row) + "\n")
			return err
		}, false},
		{"lint", func(text string, out *bytes.Buffer) error {
			f := report.Finding{Rule: "rule", Server: text, Subject: text, Message: text, Details: []string{text}, Hint: text}
			return report.Write(out, report.Text, report.Findings{All: []report.Finding{f}})
		}, false},
		{"overlay list", func(text string, out *bytes.Buffer) error {
			_, err := out.WriteString(listed([]entryReport{{Name: text, Title: text}}))
			return err
		}, false},
		{"an error", func(text string, out *bytes.Buffer) error {
			finish(out, remedy.Failure(errors.New(text), text))
			return nil
		}, false},
		{"report --format md", func(text string, out *bytes.Buffer) error {
			return writeReportText(out, console.Report{Session: text, Counts: []console.Figure{{Name: text, Value: "1"}}, Events: eventsOf(text)})
		}, false},
	}
}

// TestHostileTextOnTerminals prints each text in every field of whatever is printed for people. It prints as itself, in as many
// lines as a harmless one has.
func TestHostileTextOnTerminals(t *testing.T) {
	for _, p := range printers() {
		lines := func(text string) []string {
			var out bytes.Buffer
			if err := p.print(text, &out); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			return strings.Split(out.String(), "\n")
		}
		want := len(lines(plaintest.Harmless))
		if want < 2 || !strings.Contains(strings.Join(lines(plaintest.Harmless), ""), plaintest.Harmless) {
			t.Fatalf("%s prints nothing", p.name)
		}
		for _, text := range plaintest.Texts() {
			got := lines(text)
			if len(got) != want && !p.lines {
				t.Errorf("%s of %.40q: %d lines, want %d", p.name, text, len(got), want)
			}
			for _, line := range got {
				if wrong := plaintest.Line(line); wrong != "" {
					t.Errorf("%s of %.40q prints %s", p.name, text, wrong)
				}
				if len(line) > 20<<10 {
					t.Errorf("%s of %.40q prints a line of %d bytes", p.name, text, len(line))
				}
			}
		}
	}
}

// foundOf returns a finding whose texts are all this one.
func foundOf(text string) []console.Found {
	return []console.Found{{Session: text, Server: text, Name: text, Kind: text, Is: text, Confidence: text, Path: text, Exception: text}}
}

// begins matches what a spreadsheet computes, as formula does, written down anew.
var begins = regexp.MustCompile(`(^|[;|,\t])\s*[=+@＝＋－＠-]`)

func TestReportsComputeNothing(t *testing.T) {
	for _, text := range append(plaintest.Texts(), "a;=1", "a, -1", "|@x", " =1", "-1+1|2") {
		var out bytes.Buffer
		if err := writeReportCSV(&out, console.Report{Events: eventsOf(text), Findings: foundOf(text)}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 3 || len(rows[1]) != len(reportColumns) {
			t.Fatalf("%.40q makes %d rows, %v", text, len(rows), err)
		}
		for i, cell := range append(rows[1], rows[2]...) {
			if wrong := plaintest.Line(cell); wrong != "" || begins.MatchString(cell) {
				t.Errorf("%.40q, column %s: %.80q %s", text, reportColumns[i%len(reportColumns)], cell, wrong)
			}
		}
	}
}

// TestReportsInMarkdownHoldCodeOnly looks for what is outside of code spans.
func TestReportsInMarkdownHoldCodeOnly(t *testing.T) {
	span := regexp.MustCompile("`[^`\n]*`")
	outside := func(text string) string {
		var out bytes.Buffer
		r := console.Report{Session: text, Counts: []console.Figure{{Name: text, Value: "1"}}, Events: eventsOf(text), Findings: foundOf(text)}
		if err := writeReportText(&out, r); err != nil {
			t.Fatal(err)
		}
		return span.ReplaceAllString(out.String(), "code")
	}
	want := outside(plaintest.Harmless)
	for _, text := range plaintest.Texts() {
		if got := outside(text); got != want {
			t.Errorf("%.40q changes the report:\n%s", text, got)
		}
	}
}
