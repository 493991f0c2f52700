package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

func readCheckpoints(r reader, m member) {
	r.object(m, fields{"every": r.duration(&r.d.Config.Checkpoints.Every), "publish": r.by(readPublications)})
}

func readPublications(r reader, m member) {
	list, ok := m.value.(*ast.SequenceNode)
	if !ok {
		r.wrong(m, "a list")
		return
	}
	for i, v := range list.Values {
		e := member{name: m.name, pointer: m.pointer + Pointer(strconv.Itoa(i)), at: placeOf(v), value: v}
		r.d.Set(e.pointer, e.at)
		if _, ok := v.(*ast.MappingNode); !ok {
			r.wrong(e, "a mapping, file: PATH")
			continue
		}
		var p Publication
		r.object(e, fields{
			"file": r.text(&p.File), "url": r.text(&p.URL), "headers": r.textMap(&p.Headers), "witness": r.text(&p.Witness), "key": r.text(&p.Key),
		})
		r.d.Config.Checkpoints.Publish = append(r.d.Config.Checkpoints.Publish, p)
	}
}

// checkPublications checks each place that gets checkpoints and makes it whole. No message quotes a value.
func checkPublications(d *Draft, opts Options, dir string) {
	for i := range d.Config.Checkpoints.Publish {
		p := &d.Config.Checkpoints.Publish[i]
		at := d.Place(Pointer("checkpoints", "publish", strconv.Itoa(i)))
		one := func(s *string) {
			value, flaws := expand(*s, opts.Lookup)
			for _, f := range flaws {
				d.Fault(at, f.hint, "checkpoints.publish: %s", f.msg)
			}
			*s = value
		}
		one(&p.File)
		one(&p.URL)
		one(&p.Witness)
		for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
			value := p.Headers[name]
			one(&value)
			p.Headers[name] = value
			if !token(name) || strings.ContainsAny(value, "\r\n\x00") {
				d.Fault(at, "write NAME: value", "checkpoints.publish: a header that cannot be sent")
			}
		}
		p.check(d, at)
		p.File = resolve(dir, p.File)
	}
}

func (p *Publication) check(d *Draft, at Place) {
	places := 0
	for _, s := range []string{p.File, p.URL, p.Witness} {
		if s != "" {
			places++
		}
	}
	switch {
	case places != 1:
		d.Fault(at, "write one of file, url and witness", "checkpoints.publish: %d places", places)
	case p.URL != "" && !isHTTP(p.URL), p.Witness != "" && !isHTTP(p.Witness):
		d.Fault(at, "write https://…", "checkpoints.publish: not an http or https URL")
	case (p.Witness == "") != (p.Key == ""):
		d.Fault(at, "write the witness's public key, NAME+…+…", "checkpoints.publish: a witness needs its key, and nothing else has one")
	case p.URL == "" && len(p.Headers) > 0:
		d.Fault(at, "remove them", "checkpoints.publish: headers have no meaning without a url")
	}
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Fragment == ""
}
