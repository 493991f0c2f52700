package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/record"
)

//go:embed assets
var assets embed.FS

// A writer writes pages by their templates.
type writer struct{ templates *template.Template }

// newWriter reads the templates, which tell times from now.
func newWriter(now func() time.Time) (*writer, error) {
	templates, err := template.New("").Funcs(template.FuncMap{
		"show":    func(s string) string { return plain.Text(s, 200) },
		"line":    func(s string) string { return plain.Text(s, 2000) },
		"passage": func(s string) string { return plain.Text(s, 5000) },
		"brief":   func(s string) string { return plain.Text(s, 60) },
		"kind":    func(k record.Kind) string { return string(k) },
		"escape":  url.QueryEscape,
		"ago":     func(t time.Time) string { return span(now().Sub(t)) + " ago" },
		"left":    func(t time.Time) string { return span(t.Sub(now())) },
		"stamp":   stamp, "shape": shapeOf, "words": labelWords,
		"effect": effectClass, "lines": textLines, "part": partLines, "shown": shown, "link": clean, "chunks": chunks,
	}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return nil, fmt.Errorf("reading the console's pages: %w", err)
	}
	return &writer{templates}, nil
}

// A page is the frame of every page, and its own content.
type page struct {
	Title, At string // At is the part of the console that it belongs to
	Form      string // token of forms
	Open      int    // questions
	Problem   string
	Content   any
}

func (v *writer) write(w http.ResponseWriter, status int, name string, p page) {
	var b bytes.Buffer
	if err := v.templates.ExecuteTemplate(&b, name+".html", p); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	b.WriteTo(w)
}

// refuse answers a request with a reason.
func (v *writer) refuse(w http.ResponseWriter, status int, why string) {
	v.write(w, status, "refused", page{Title: http.StatusText(status), Problem: why})
}
