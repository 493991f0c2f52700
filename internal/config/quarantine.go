package config

import (
	"net/url"
	"time"

	"github.com/goccy/go-yaml/ast"
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
}

// readQuarantine reads the section of that name.
func readQuarantine(r reader, m member) {
	q := &r.d.Config.Quarantine
	r.object(m, fields{"url": r.text(&q.URL), "model": r.text(&q.Model), "key": r.text(&q.Key), "timeout": r.duration(&q.Timeout)})
	if _, ok := m.value.(*ast.MappingNode); !ok {
		return
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
