package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/sanitize"
)

// maxSanitizers bounds the sanitizers of a configuration: agents get all names.
const maxSanitizers = 64

var sanitizerName = pattern.New(`^[a-z][a-z0-9_-]{0,39}$`)

// readSanitizers reads the section of that name.
func readSanitizers(r reader, m member) {
	all, _ := r.entries(m)
	if len(all) > maxSanitizers {
		r.d.Fault(m.at, "remove some", "sanitizers: more than %d", maxSanitizers)
		return
	}
	r.d.Config.Sanitizers = map[string]sanitize.Rule{}
	for _, e := range all {
		e.name = fmt.Sprintf("sanitizer %.80q", e.key)
		readSanitizer(r, e)
	}
}

func readSanitizer(r reader, m member) {
	var rule sanitize.Rule
	fault := func(hint, format string, args ...any) {
		r.d.Fault(m.at, hint, "%s: "+format, append([]any{m.name}, args...)...)
	}
	lowered := func(p *bool) func(member) {
		return func(m member) { on := true; r.boolean(&on)(m); *p = !on }
	}
	label := func(m member) {
		r.object(m, fields{"untrusted": lowered(&rule.Trusted), "private": lowered(&rule.Public)})
	}
	r.object(m, fields{
		"by": r.oneOf(&rule.By, sanitize.Ways()...), "length": r.count(&rule.Length), "question": r.text(&rule.Question), "label": label,
	})
	if _, ok := m.value.(*ast.MappingNode); !ok {
		return
	}
	has := func(name string) bool { return r.d.Has(Pointer("sanitizers", m.key, name)) }
	switch {
	case !sanitizerName().MatchString(m.key):
		fault("write letters a to z, digits, - and _", "no name of a sanitizer")
	case !has("by"):
		fault("write by: strip_links, redact, truncate or summarize", "by is missing")
	case (rule.By == sanitize.Truncate) != has("length"):
		fault("write length: BYTES beside by: truncate alone", "length is of truncate")
	case (rule.By == sanitize.Summarize) != has("question"):
		fault("write question: TEXT beside by: summarize alone", "question is of summarize")
	}
	r.d.Config.Sanitizers[m.key] = rule
}
