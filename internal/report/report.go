// Package report turns findings into text, JSON and SARIF.
//
//	err := report.Write(os.Stdout, report.SARIF, report.Findings{Tool: "lint", Rules: rules, All: found})
//
// A finding's message may quote text of a server. The text form makes everything visible that does not print as itself,
// so that no escape sequence reaches a terminal; JSON and SARIF hold it as JSON strings. SARIF is version 2.1.0
// (OASIS), as code scanning of forges reads it.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
)

// A Severity is how much a finding matters. The zero Severity is Error, so that forgotten values are not overlooked.
type Severity uint8

const (
	Error   Severity = iota // wrong, or dangerous
	Warning                 // deserves a look
	Note                    // could be better
)

var severities = []string{"error", "warning", "note"}

// String returns the word that [ParseSeverity] reads.
func (s Severity) String() string { return severities[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ParseSeverity reads "error", "warning" or "note".
func ParseSeverity(text string) (Severity, error) {
	i := slices.Index(severities, text)
	if i < 0 {
		return Error, fmt.Errorf("unknown severity %.40q: use %s", text, strings.Join(severities, ", "))
	}
	return Severity(i), nil
}

// A Finding is one thing that was found.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Server   string   `json:"server,omitempty"`
	Subject  string   `json:"subject,omitempty"` // a tool, or another part of the server
	Message  string   `json:"message"`
	Details  []string `json:"details,omitempty"`
	Hint     string   `json:"hint,omitempty"` // the remedy
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"` // from 1
}

// A Rule describes a kind of findings.
type Rule struct {
	ID       string   `json:"id"`
	Summary  string   `json:"summary"`
	Severity Severity `json:"severity"`
}

// Findings is the output of a tool.
type Findings struct {
	Tool    string // that found them
	Version string
	Rules   []Rule
	All     []Finding
}

// Sort puts the findings into the order in which they are reported: the worst first, then by server, subject and rule.
func (f *Findings) Sort() {
	slices.SortStableFunc(f.All, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), strings.Compare(a.Server, b.Server),
			strings.Compare(a.Subject, b.Subject), strings.Compare(a.Rule, b.Rule))
	})
}

// Worst returns the severity of the worst finding, and false if there is none.
func (f *Findings) Worst() (worst Severity, found bool) {
	for i, one := range f.All {
		if i == 0 || one.Severity < worst {
			worst, found = one.Severity, true
		}
	}
	return worst, found
}

// A Format is how findings are written.
type Format string

// The formats.
const (
	Text  Format = "text"
	JSON  Format = "json"
	SARIF Format = "sarif"
)

// Write writes the findings.
func Write(w io.Writer, format Format, f Findings) error {
	switch format {
	case Text:
		return writeText(w, f)
	case JSON:
		return encode(w, map[string]any{"tool": f.Tool, "version": f.Version, "findings": append([]Finding{}, f.All...)})
	case SARIF:
		return encode(w, sarif(f))
	}
	return fmt.Errorf("unknown format %q", format)
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// maxText is how many characters of one text are written: a longer one is cut in the middle.
const maxText = 4000

// writeText writes one line a finding, "severity: server/subject: message (rule)", one for each detail, and one for its
// hint.
func writeText(w io.Writer, f Findings) error {
	var b strings.Builder
	for _, one := range f.All {
		where := one.Server
		if one.Subject != "" {
			where += "/" + one.Subject
		}
		if one.File != "" {
			where = fmt.Sprintf("%s:%d", one.File, one.Line)
		}
		if where != "" {
			where = plain.Text(where, maxText) + ": "
		}
		fmt.Fprintf(&b, "%s: %s%s (%s)\n", one.Severity, where, plain.Text(one.Message, maxText), one.Rule)
		for _, line := range one.Details {
			fmt.Fprintf(&b, "  %s\n", plain.Text(line, maxText))
		}
		if one.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", plain.Text(one.Hint, maxText))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
