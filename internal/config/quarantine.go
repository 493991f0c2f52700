package config

import (
	"net/url"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/sanitize"
)

// OfferPlans in Results.Plan offers weir_plan to every agent; StrictPlans also blocks calls outside of plans.
const (
	OfferPlans  = "offer"
	StrictPlans = "strict"
)

// A Quarantine is a model without tools that answers questions about hidden results. The zero Quarantine is none.
type Quarantine struct {
	URL     string // of its API, before /chat/completions; "" if there is none
	Model   string
	Key     string // bearer token; "" for none
	Timeout time.Duration

	Command []string          // a program in the place of all that but the time: it and its arguments
	Env     map[string]string // its whole environment
}

// readQuarantine reads the section of that name.
func readQuarantine(r reader, m member) {
	q := &r.d.Config.Quarantine
	r.object(m, fields{"url": r.text(&q.URL), "model": r.text(&q.Model), "key": r.text(&q.Key), "timeout": r.duration(&q.Timeout),
		"command": r.texts(&q.Command), "env": r.textMap(&q.Env)})
	if _, ok := m.value.(*ast.MappingNode); !ok {
		return
	}
	if r.d.Has(Pointer("quarantine", "command")) {
		if len(q.Command) == 0 || q.Command[0] == "" {
			r.d.Fault(m.at, "write command: [PROGRAM, ARGUMENT]", "quarantine.command: there is no program")
		}
		for _, other := range []string{"url", "model", "key"} {
			if r.d.Has(Pointer("quarantine", other)) {
				r.d.Fault(m.at, "remove one of both", "quarantine: %s is not for a command", other)
			}
		}
		return
	}
	if r.d.Has(Pointer("quarantine", "env")) {
		r.d.Fault(m.at, "remove it, or write command: [PROGRAM]", "quarantine: env is for a command")
	}
	for _, required := range []string{"url", "model"} {
		if !r.d.Has(Pointer("quarantine", required)) {
			r.d.Fault(m.at, "add "+required+", see docs/patterns.md", "%s: %s is missing", m.name, required)
		}
	}
}

// checkQuarantine expands and checks the section quarantine. No message quotes the key.
func checkQuarantine(d *Draft, opts Options) {
	q := &d.Config.Quarantine
	for name, rule := range d.Config.Sanitizers {
		if rule.By == sanitize.Summarize && q.URL == "" && len(q.Command) == 0 {
			d.Fault(d.Place(Pointer("sanitizers", name)), "add the section quarantine", "sanitizer %.80q: no model summarizes", name)
		}
	}
	for name, value := range q.Env {
		text, flaws := expand(value, opts.Lookup)
		q.Env[name] = text
		for _, f := range flaws {
			d.Fault(d.Place(Pointer("quarantine", "env", name)), f.hint, "quarantine.env: %s: %s", name, f.msg)
		}
	}
	if q.URL == "" {
		return
	}
	for _, v := range []struct {
		name  string
		value *string
	}{{"url", &q.URL}, {"key", &q.Key}} {
		text, flaws := expand(*v.value, opts.Lookup)
		*v.value = text
		for _, f := range flaws {
			d.Fault(d.Place(Pointer("quarantine", v.name)), f.hint, "quarantine.%s: %s", v.name, f.msg)
		}
	}
	u, err := url.Parse(q.URL)
	local := err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && local) {
		d.Fault(d.Place(Pointer("quarantine", "url")), "write https://HOST/v1, or http://127.0.0.1:PORT/v1 for a model of this machine",
			"quarantine.url: no URL that hidden results may go to")
	}
}
