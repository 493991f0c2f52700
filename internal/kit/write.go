package kit

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/report"
)

const (
	maxShown = 3   // vectors of one check that the text shows
	maxText  = 700 // characters of one of them
)

// WriteText writes a report for people: failures first, the reasons below each, and the counts at the end.
func WriteText(w io.Writer, r Report) error {
	var b strings.Builder
	checks := bySeverity(r.Checks)
	for i, one := range checks {
		fmt.Fprintf(&b, "%-15s %s (%s, %d %s): %s\n", one.Verdict, one.ID, one.Level, one.Vectors, plural("vector", one.Vectors), one.Summary)
		// A reason that several checks in a row have stands below the last of them.
		if one.Verdict == Absent && (i+1 == len(checks) || checks[i+1].Because != one.Because) {
			fmt.Fprintf(&b, "%16s%s\n", "", plain.Text(one.Because, maxText))
		}
		if len(one.Broken) > 0 {
			fmt.Fprintf(&b, "%16s%s\n", "", one.Section)
		}
		for _, p := range one.Broken[:min(len(one.Broken), maxShown)] {
			fmt.Fprintf(&b, "%16s%s: %s\n", "", plain.Text(p.Vector, maxText), plain.Text(p.Text, maxText))
		}
		if more := len(one.Broken) - maxShown; more > 0 {
			fmt.Fprintf(&b, "%16sand %d more\n", "", more)
		}
	}
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d %s, %d not applicable\n", plain.Text(r.Target, maxText), r.Count(Passed), r.Count(Failed),
		r.Count(Warned), plural("warning", r.Count(Warned)), r.Count(Absent))
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// WriteJSON writes the whole report.
func WriteJSON(w io.Writer, r Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteSARIF writes failures and warnings as SARIF 2.1.0, one result a check.
func WriteSARIF(w io.Writer, r Report) error {
	f := report.Findings{Tool: "conformance " + r.Kind, Version: r.Version}
	for _, one := range r.Checks {
		severity := report.Error
		if one.Level == Should {
			severity = report.Warning
		}
		f.Rules = append(f.Rules, report.Rule{ID: one.ID, Summary: one.Summary + " (" + one.Section + ")", Severity: severity})
		if len(one.Broken) == 0 {
			continue
		}
		found := report.Finding{Rule: one.ID, Severity: severity, Server: r.Target, Message: one.Summary + " (" + one.Section + ")"}
		for _, p := range one.Broken {
			found.Details = append(found.Details, p.Vector+": "+p.Text)
		}
		f.All = append(f.All, found)
	}
	return report.Write(w, report.SARIF, f)
}

// The elements of JUnit's XML.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Failure *junitText  `xml:"failure"`
		Skipped *junitText  `xml:"skipped"`
		Output  *junitPlain `xml:"system-out"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitPlain struct {
		Text string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit's XML, one test case a check. Checks that are not applicable are skipped;
// warnings are failures if strict, else text.
func WriteJUnit(w io.Writer, r Report, strict bool) error {
	suite := junitSuite{Name: "weir conformance " + r.Kind + ": " + r.Target, Tests: len(r.Checks), Skipped: r.Count(Absent)}
	for _, one := range r.Checks {
		c := junitCase{Name: one.ID, Class: r.Kind + "." + one.family()}
		var lines strings.Builder
		for _, p := range one.Broken {
			fmt.Fprintf(&lines, "%s: %s\n", p.Vector, plain.Text(p.Text, maxText))
		}
		switch {
		case one.Verdict == Absent:
			c.Skipped = &junitText{Message: one.Because}
		case one.Verdict == Failed || one.Verdict == Warned && strict:
			suite.Failures++
			c.Failure = &junitText{Message: one.Summary + " (" + one.Section + ")", Text: lines.String()}
		case one.Verdict == Warned:
			c.Output = &junitPlain{Text: "warning: " + one.Summary + "\n" + lines.String()}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	return enc.Close()
}
