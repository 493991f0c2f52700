package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/evidence"
	"github.com/weir-mcp/weir/label"
)

// readAnnotations reads which dialects are written, the meaning of organisations' labels, and the places of evidence.
func readAnnotations(r reader, m member) {
	w := &r.d.Config.Words
	r.object(m, fields{
		"to_hosts":   readDialects(r, &w.ToHosts),
		"to_servers": readDialects(r, &w.ToServers),
		"labels":     r.by(readLabels),
		"evidence":   r.by(readPlaces),
	})
}

// readPlaces reads the places of records of evidence.
func readPlaces(r reader, m member) {
	r.texts(&r.d.Config.Words.Evidence)(m)
	for _, place := range r.d.Config.Words.Evidence {
		if _, err := evidence.Place(place); err != nil {
			r.d.Fault(m.at, "write https://HOST/PATH/", "%s: %.200q: %v", m.name, place, err)
		}
	}
}

func readDialects(r reader, p *[]string) func(member) {
	return func(m member) {
		*p = []string{}
		readWords(r, m, annotation.Dialects(), func(s string) { *p = append(*p, s) })
		if _, err := annotation.NewWriter(*p...); err != nil { // all of them are known
			r.d.Fault(m.at, "leave one of them out", "%s: %v", m.name, err)
		}
	}
}

// readWords reads a list of words, each one of those known.
func readWords(r reader, m member, known []string, add func(string)) {
	list, ok := m.value.(*ast.SequenceNode)
	if !ok {
		r.wrong(m, "a list, [a, b]")
		return
	}
	for _, v := range list.Values {
		r.word(member{name: m.name, at: placeOf(v), value: v}, known, func(s string) error {
			if !slices.Contains(known, s) {
				return fmt.Errorf("unknown word %q", s)
			}
			add(s)
			return nil
		})
	}
}

// readLabels reads the meanings of an organisation's labels: member, value, classes.
func readLabels(r reader, m member) {
	labels, _ := r.entries(m)
	meanings := annotation.Meanings{}
	for _, l := range labels {
		if !annotation.IsLabelName(l.key) {
			r.d.Fault(l.at, "write a name of your own, as com.example/label", "%s: %.64q is no name of an organisation's label", m.name, l.key)
			continue
		}
		meanings[l.key] = map[string][]label.Class{}
		values, _ := r.entries(l)
		for _, v := range values {
			v.name = m.name
			meanings[l.key][v.key] = readClasses(r, v)
		}
	}
	r.d.Config.Words.Labels = meanings
}

// readClasses reads a list of sensitivity classes.
func readClasses(r reader, m member) []label.Class {
	var known []string
	for _, c := range label.Classes() {
		known = append(known, string(c))
	}
	classes := []label.Class{}
	list, ok := m.value.(*ast.SequenceNode)
	if !ok {
		r.wrong(m, "a list, [pii, financial]")
		return classes
	}
	for _, v := range list.Values {
		e := member{name: m.name, at: placeOf(v), value: v}
		r.word(e, append(known, "regulated:SCOPE"), func(s string) error {
			scope, scoped := strings.CutPrefix(s, "regulated:")
			if !slices.Contains(known, s) && (!scoped || scope == "") {
				return fmt.Errorf("unknown class %q", s)
			}
			classes = append(classes, label.Class(s))
			return nil
		})
	}
	return classes
}
