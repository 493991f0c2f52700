package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// maxReported bounds the events that a report tells one by one. The figures count all.
const maxReported = 50_000

func newReport(env *home.Env) *cobra.Command {
	var place, session, since, until string
	format := choice{"md", []string{"html", "md", "json", "csv", "sarif"}}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report the events of a span of time or a session",
		Long: `Report the events of a span of time or an agent session, for an auditor: how many calls were
let through, asked about and blocked, what was found in their arguments and answers, and each
event that is more than a plain permission. The form sarif has the findings alone. The report is
made from the log; verify that with weir audit verify.`,
		Example: "  weir report --since 2026-11-01 --until 2026-12-01 --format html > november.html\n  weir report --session local/agent:42 --format csv",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := console.Report{Made: time.Now(), Session: session}
			var wrong error
			r.From, wrong = parseDay("--since", since)
			if wrong == nil {
				r.To, wrong = parseDay("--until", until)
			}
			if wrong != nil {
				return usage(cmd, wrong)
			}
			return readStore(cmd.Context(), env, place, func(db *sqlstore.DB, _ string) error {
				if err := fillReport(cmd.Context(), db, &r); err != nil {
					return err
				}
				return writeReport(env.Stdout, format.value, r)
			})
		},
	}
	cmd.Flags().StringVar(&place, "store", "", "the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.Flags().StringVar(&session, "session", "", "only the agent session with this `KEY`")
	cmd.Flags().StringVar(&since, "since", "", "from this `DAY` on, as 2026-11-21, or a time as 2026-11-21T10:00:00Z")
	cmd.Flags().StringVar(&until, "until", "", "before this `DAY` or time")
	addChoice(cmd, &format, "format", "the form of the report")
	return cmd
}

// parseDay reads a day or a time, in UTC; "" is the zero time.
func parseDay(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %.40q is neither a day nor a time", flag, s)
}

// fillReport reads the log.
func fillReport(ctx context.Context, db *sqlstore.DB, r *console.Report) error {
	counts := map[string]int{}
	for row, err := range db.Log().Rows(ctx, audit.Query{Chain: r.Session, Before: r.To}) {
		if err != nil {
			return err
		}
		if row.Time.Before(r.From) {
			continue
		}
		e := console.Event{Seq: row.Seq}
		if row.Erased() || json.Unmarshal(row.Body, &e.Event) != nil {
			counts["entries without a body"]++
			continue
		}
		counts[countedAs(&e.Event)]++
		for _, f := range app.FoundIn(e.Seq, &e.Event) {
			word, _, _ := strings.Cut(f.State(), " ")
			counts["finding: "+f.Kind+", "+word]++
			if len(r.Findings) < maxReported {
				r.Findings = append(r.Findings, f)
			} else {
				r.Cut = true
			}
		}
		if e.Kind == record.Decision && e.Effect == "allow" {
			continue
		}
		if len(r.Events) == maxReported {
			r.Cut = true
			continue
		}
		r.Events = append(r.Events, e)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		r.Counts = append(r.Counts, console.Figure{Name: name, Value: strconv.Itoa(counts[name])})
	}
	return nil
}

// countedAs names the kind by which an event is counted.
func countedAs(e *record.Event) string {
	words := string(e.Kind)
	if e.Kind == record.Decision {
		words += " on a " + e.Phase
	}
	if e.Effect != "" && (e.Kind == record.Decision || e.Kind == record.Approval) {
		words += ": " + e.Effect
	}
	return words
}

func writeReport(w io.Writer, format string, r console.Report) error {
	switch format {
	case "html":
		return console.WriteReport(w, r)
	case "json":
		return writeJSON(w, r)
	case "csv":
		return writeReportCSV(w, r)
	case "sarif":
		return report.Write(w, report.SARIF, reportedFindings(r.Findings))
	}
	return writeReportText(w, r)
}

// reportRow returns an event as cells of plain text.
func reportRow(e console.Event) []string {
	words := ""
	if e.Label != nil {
		words = labelWords(*e.Label)
	}
	return plainCells(strconv.FormatInt(e.Seq, 10), e.Time.UTC().Format(time.RFC3339), e.Session, e.Principal,
		string(e.Kind), e.Effect, e.Server, e.Name, e.Rule, e.Message, words)
}

// foundRow returns a finding as cells of plain text, in the columns of events.
func foundRow(f console.Found) []string {
	return plainCells(strconv.FormatInt(f.Entry, 10), f.Time.UTC().Format(time.RFC3339), f.Session, "",
		"finding", f.State(), f.Server, f.Name, f.Kind, f.Confidence+" confidence, in "+f.Where()+", member "+f.Path, f.Is)
}

func plainCells(cells ...string) []string {
	for i, cell := range cells {
		cells[i] = plain.Text(cell, 400)
	}
	return cells
}

var reportColumns = []string{"number", "time", "session", "principal", "kind", "effect", "server", "name", "rule", "message", "label"}

// reportRows returns the findings, and then the events.
func reportRows(r console.Report) (rows [][]string) {
	for _, f := range r.Findings {
		rows = append(rows, foundRow(f))
	}
	for _, e := range r.Events {
		rows = append(rows, reportRow(e))
	}
	return rows
}

// reportedFindings returns findings for programs that read SARIF.
func reportedFindings(all []console.Found) report.Findings {
	out := report.Findings{Tool: "detect", Version: home.Version()}
	for _, rule := range detect.Rules() {
		out.Rules = append(out.Rules, report.Rule{ID: string(rule.Kind), Summary: rule.Name, Severity: severityOf(rule.Confidence)})
	}
	for _, f := range all {
		one := report.Finding{
			Rule: f.Kind, Severity: severityOf(confidenceOf(f.Confidence)), Server: f.Server, Subject: f.Name,
			Message: plain.Text(f.Is+" in "+f.Where(), 400),
			Details: []string{"entry " + strconv.FormatInt(f.Entry, 10) + " of the log", "member " + plain.Text(f.Path, 400), f.State()},
		}
		if f.Exception != "" {
			one.Severity = report.Note
		}
		out.All = append(out.All, one)
	}
	return out
}

// writeReportCSV writes the findings and the events.
func writeReportCSV(w io.Writer, r console.Report) error {
	out := csv.NewWriter(w)
	err := out.Write(reportColumns)
	for _, row := range reportRows(r) {
		for i, cell := range row {
			row[i] = asCell(cell)
		}
		err = errors.Join(err, out.Write(row))
	}
	out.Flush()
	return errors.Join(err, out.Error())
}

// formula is the beginning of a text that a spreadsheet takes for a formula: at the start of a cell, or after a
// character that a spreadsheet of another country takes for the end of one. The full-width forms count in some of them.
var formula = pattern.New(`(^|[;|,])(\s*)([=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])`)

// asCell returns text as a cell that no spreadsheet computes: an apostrophe comes before each beginning of a formula.
func asCell(text string) string { return formula().ReplaceAllString(text, "$1$2'$3") }

// writeReportText writes the report as Markdown, in which the texts of others are code.
func writeReportText(w io.Writer, r console.Report) error {
	var b strings.Builder
	span := func(t time.Time, open string) string {
		if t.IsZero() {
			return open
		}
		return t.Format(time.RFC3339)
	}
	fmt.Fprintf(&b, "# Report\n\nMade %s, from %s to %s.\n", r.Made.UTC().Format(time.RFC3339), span(r.From, "the beginning"), span(r.To, "the end"))
	if r.Session != "" {
		fmt.Fprintf(&b, "Session %s.\n", asCode(r.Session))
	}
	if r.Cut {
		b.WriteString("There are more events than are told here.\n")
	}
	b.WriteString("\n| what | how often |\n| --- | --- |\n")
	for _, c := range r.Counts {
		fmt.Fprintf(&b, "| %s | %s |\n", asCode(c.Name), c.Value)
	}
	b.WriteString("\n| " + strings.Join(reportColumns, " | ") + " |\n|" + strings.Repeat(" --- |", len(reportColumns)) + "\n")
	for _, row := range reportRows(r) {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + asCode(cell) + " |")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// asCode returns text as a Markdown code span in a table.
func asCode(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(plain.Text(s, 400)) + "`"
}
