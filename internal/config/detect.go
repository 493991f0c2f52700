package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/spelling"
)

// Bounds of canaries.
const (
	minCanary   = 8 // bytes
	maxCanary   = 256
	maxCanaries = 100
)

// readDetection reads detect: a mode, or a section with one.
func readDetection(r reader, m member) {
	c := &r.d.Config.Detect
	if _, section := m.value.(*ast.MappingNode); !section {
		r.oneOf(&c.Mode, DetectOff, DetectNotes, DetectDefault, DetectStrict)(m)
		return
	}
	r.object(m, fields{
		"mode":     r.oneOf(&c.Mode, DetectOff, DetectNotes, DetectDefault, DetectStrict),
		"effects":  r.by(readEffects),
		"sent":     r.by(readSent),
		"rules":    r.texts(&c.Rules),
		"canaries": r.texts(&c.Canaries),
		"external": r.by(readExternals),
	})
}

// readEffects reads the effects of findings, by class or by rule.
func readEffects(r reader, m member) {
	members, _ := r.entries(m)
	effects := map[string]string{}
	for _, e := range members {
		var word string
		r.oneOf(&word, "off", "note", "raise", "spotlight", "strip", "redact")(e)
		effects[e.key] = word
	}
	r.d.Config.Detect.Effects = effects
}

// readSent reads the destinations before which findings in arguments are redacted, by class or by rule.
func readSent(r reader, m member) {
	members, _ := r.entries(m)
	r.d.Config.Detect.Sent = map[string][]string{}
	for _, e := range members {
		var list []string
		r.texts(&list)(e)
		r.d.Config.Detect.Sent[e.key] = list
	}
}

// readExternals reads the detectors in other programs, by their names.
func readExternals(r reader, m member) {
	members, _ := r.entries(m)
	for _, e := range members {
		x := External{Name: e.key}
		r.object(e, fields{
			"kind": r.oneOf(&x.Kind, externalKinds...), "url": r.text(&x.URL), "token": r.text(&x.Token), "timeout": r.duration(&x.Timeout),
			"threshold": r.count(&x.Threshold), "language": r.text(&x.Language), "labels": r.texts(&x.Labels),
		})
		r.d.Config.Detect.External = append(r.d.Config.Detect.External, x)
	}
}

// externalKinds are the forms in which other programs are asked.
var externalKinds = []string{"presidio", "classifier", "moderation"}

// maxExternalTime is how long a call waits for a detector at most.
const maxExternalTime = time.Minute

// checkExternal expands and checks a detector in another program. No message quotes its URL or its token.
func checkExternal(d *Draft, x *External, opts Options) {
	at := func(member string) Place { return d.Place(Pointer("detect", "external", x.Name, member)) }
	name := "detect.external." + x.Name
	fault := func(member, hint, text string) { d.Fault(at(member), hint, "%s.%s: %s", name, member, text) }
	for member, value := range map[string]*string{"url": &x.URL, "token": &x.Token} {
		text, flaws := expand(*value, opts.Lookup)
		*value = text
		for _, f := range flaws {
			fault(member, f.hint, f.msg)
			return
		}
	}
	here := d.Place(Pointer("detect", "external", x.Name))
	if !serverName().MatchString(x.Name) {
		d.Fault(here, "use 1 to 64 letters, digits, _ and -, the first a letter or a digit", "%s: no detector can have this name", name)
	}
	if x.Kind == "" && !d.Has(Pointer("detect", "external", x.Name, "kind")) {
		d.Fault(here, "add kind: presidio, classifier or moderation", "%s: kind is missing", name)
	}
	if wrong := wrongHook(x.URL); wrong != "" {
		d.Fault(here, "write url: https://host/path, or http://127.0.0.1:PORT/path", "%s.url: %s", name, wrong)
	}
	if x.Kind != "presidio" && x.Kind != "" && len(x.Labels) == 0 {
		d.Fault(here, "add labels: [INJECTION], or those of your model", "%s: labels are missing", name)
	}
	if x.Threshold > 100 {
		fault("threshold", "use 1 to 100, in percent", "it is out of range")
	}
	if x.Timeout > maxExternalTime {
		fault("timeout", "use 1m at most", "it is out of range")
	}
}

// checkDetection resolves the paths of rules, expands canaries and checks the whole. No message quotes a canary.
func checkDetection(d *Draft, opts Options, dir string) {
	c := &d.Config.Detect
	known := slices.Clone(opts.Findings)
	for i, path := range c.Rules {
		c.Rules[i] = resolve(dir, path)
		if path == "" || opts.Rules == nil {
			continue
		}
		ids, err := opts.Rules(c.Rules[i])
		if err != nil {
			at := d.Place(Pointer("detect", "rules", strconv.Itoa(i)))
			d.Fault(at, "the path is relative to this file; weir detect test FILE checks one", "detect.rules: %v", err)
		}
		known = append(known, ids...)
	}
	checkNames(d, "effects", slices.Sorted(maps.Keys(c.Effects)), known, opts)
	checkNames(d, "sent", slices.Sorted(maps.Keys(c.Sent)), known, opts)
	for _, name := range slices.Sorted(maps.Keys(c.Sent)) {
		checkDestinations(d, name, c.Sent[name])
	}
	for i := range c.Canaries {
		at := d.Place(Pointer("detect", "canaries", strconv.Itoa(i)))
		text, flaws := expand(c.Canaries[i], opts.Lookup)
		for _, f := range flaws {
			d.Fault(at, f.hint, "detect.canaries: %s", f.msg)
		}
		if err := checkCanary(text); err != nil && len(flaws) == 0 {
			d.Fault(at, "make one: openssl rand -hex 16", "detect.canaries: %v", err)
		}
		c.Canaries[i] = text
	}
	for i := range c.External {
		checkExternal(d, &c.External[i], opts)
	}
	if len(c.Canaries) > maxCanaries {
		d.Fault(d.Place(Pointer("detect", "canaries")), "remove some", "detect.canaries: more than %d", maxCanaries)
	}
}

// checkNames reports names that are neither a class nor a rule.
func checkNames(d *Draft, member string, names, known []string, opts Options) {
	for _, name := range names {
		if opts.Findings == nil || slices.Contains(known, name) {
			continue
		}
		hint := "weir detect rules lists the rules and their classes"
		if near := spelling.Nearest(name, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.Fault(d.Place(Pointer("detect", member, name)), hint, "detect.%s: no class and no rule is called %.64q", member, name)
	}
}

// checkDestinations reports words that are no destinations.
func checkDestinations(d *Draft, name string, words []string) {
	var known []string
	for _, to := range contract.Destinations() {
		known = append(known, string(to))
	}
	at := d.Place(Pointer("detect", "sent", name))
	if len(words) == 0 {
		d.Fault(at, "write a list of "+strings.Join(known, ", "), "detect.sent.%s: no destination is named", name)
	}
	for _, word := range words {
		if !slices.Contains(known, word) {
			d.Fault(at, "use "+strings.Join(known, ", "), "detect.sent.%s: %.40q is no destination", name, word)
		}
	}
}

func checkCanary(text string) error {
	switch {
	case len(text) < minCanary:
		return errors.New("a value has fewer than 8 bytes, and other text would hold it by chance")
	case len(text) > maxCanary:
		return errors.New("a value has more than 256 bytes")
	}
	return nil
}
