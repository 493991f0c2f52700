package config

import (
	"errors"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/document"
)

// readTemplates reads the plans of the operator.
func readTemplates(r reader, m member) {
	r.d.Config.Templates = map[string]*plan.Template{}
	templates, _ := r.entries(m)
	for _, e := range templates {
		readTemplate(r, e)
	}
}

// readTemplate reads one. Package plan checks it; here are the names of members and the places.
func readTemplate(r reader, m member) {
	const see = "see docs/patterns.md#templates"
	before, any := len(r.d.Problems()), func(member) {}
	at := map[string]Place{} // of parameters
	var steps []Place
	r.object(m, fields{
		"goal": any, "approved": any,
		"parameters": func(m member) {
			parameters, _ := r.entries(m)
			for _, p := range parameters {
				at[p.key] = p.at
				r.object(p, fields{"type": any, "options": any, "min": any, "max": any})
			}
		},
		"steps": func(m member) {
			list, ok := m.value.(*ast.SequenceNode)
			if !ok {
				r.wrong(m, "a list of steps")
				return
			}
			for i, n := range list.Values {
				steps = append(steps, placeOf(n))
				step := member{name: m.name, pointer: m.pointer + Pointer(strconv.Itoa(i)), at: placeOf(n), value: n}
				r.object(step, fields{"id": any, "tool": any, "arguments": any, "repeat": any, "optional": any})
			}
		},
	})
	if len(r.d.Problems()) > before {
		return
	}
	var doc document.Document
	raw := doc.JSON(m.value)
	for _, p := range doc.Problems {
		r.d.Fault(Place{p.Line, p.Col}, p.Hint, "%s: %s", m.name, p.Msg)
	}
	if len(doc.Problems) > 0 {
		return
	}
	t, err := plan.ParseTemplate(m.key, raw)
	var step *plan.StepError
	var parameter *plan.ParameterError
	switch {
	case err == nil:
		r.d.Config.Templates[m.key] = t
	case errors.As(err, &step):
		r.d.Fault(steps[step.Step], see, "%s: %v", m.name, err)
	case errors.As(err, &parameter):
		r.d.Fault(at[parameter.Name], see, "%s: %v", m.name, err)
	default:
		r.d.Fault(m.at, see, "%s: %v", m.name, err)
	}
}
