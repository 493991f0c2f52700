package console

import (
	"html/template"
	"io"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/record"
)

// A Report is a report to an auditor on a span of time or a session.
type Report struct {
	Made, From, To time.Time // From and To may be zero: from the beginning, to the end
	Session        string    // "" for all
	Cut            bool      // there was more than is told
	Counts         []Figure
	Findings       []Found // of detection, the oldest first
	Events         []Event // but for plain permissions, the oldest first
}

// Where names the arguments or the answers that a finding is in.
func (f Found) Where() string {
	if f.Arguments {
		return "arguments for " + f.Server + "/" + f.Name
	}
	return "an answer of " + f.Server + "/" + f.Name
}

// State says whether a finding counted.
func (f Found) State() string {
	if f.Exception != "" {
		return "excepted by " + f.Exception
	}
	return "counted"
}

// WriteReport writes a report as one HTML document without script, that loads nothing.
func WriteReport(w io.Writer, r Report) error {
	style, err := assets.ReadFile("assets/report.css")
	if err != nil {
		return err
	}
	page, err := template.New("").Funcs(template.FuncMap{
		"show": func(s string) string { return plain.Text(s, 200) }, "stamp": stamp, "words": labelWords,
		"kind":  func(k record.Kind) string { return string(k) },
		"style": func() template.CSS { return template.CSS(style) }, // ours, embedded
	}).ParseFS(assets, "assets/report.tmpl")
	if err != nil {
		return err
	}
	return page.ExecuteTemplate(w, "report.tmpl", r)
}
