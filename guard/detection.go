package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A Detector looks for sensitive values and for text that speaks to the agent. [detect.Scanner] is one.
type Detector interface {
	// Scan looks at a text. Its work is linear in the text.
	Scan(text []byte, form detect.Form, salt []byte) detect.Report
}

// A NamedDetector is a detector that also knows the tools which an agent that reads the text may call.
// [detect.Scanner] is one.
type NamedDetector interface {
	Detector
	ScanNamed(text []byte, form detect.Form, salt []byte, tools detect.Named) detect.Report
}

// Detection configures the search of arguments, answers and questions of servers for sensitive values, and for text that speaks to the
// agent. A value that it misses is decided on as without it, and so is a text that it cannot read.
type Detection struct {
	Detector Detector // nil: nothing is searched
	Notes    bool     // the effect of findings that Effects does not name is Note; else it is Raise
	Strict   bool     // findings of medium confidence raise labels too, and data about one person do

	Effects map[string]FindingEffect // by class or by rule of a finding; the rule counts first

	// Sent are the destinations before which findings in a call, and in answers to questions of its server, are
	// redacted, by class or by rule. Who sets it has to send the params of the [Verdict]: the decision is on these
	// bytes.
	Sent map[string][]contract.Destination

	// Exceptions are findings that count for nothing by the word of a person. The texts that hosts get are changed by
	// Effects all the same. Nil: there are none.
	Exceptions Exceptions

	// Conforms reports whether the structured content of a result, which was changed, satisfies the output schema of
	// its tool. Nil: it does not.
	Conforms func(schema, content json.RawMessage) bool
}

// A FindingEffect is the effect of a finding.
type FindingEffect uint8

// The effects of findings.
const (
	Raise     FindingEffect = iota // it is recorded, raises labels and is a fact of policy
	Spotlight                      // the same, and hosts get its passage between marks
	Strip                          // the same, and hosts get the text without hidden characters
	Redact                         // the same, and hosts get a placeholder for its value and for each copy
	Note                           // it is recorded
	Ignore                         // it has none
)

// effect returns the effect of a finding.
func (d *Detection) effect(f detect.Finding) FindingEffect {
	for _, name := range []string{string(f.Kind), string(f.Class)} {
		if e, ok := d.Effects[name]; ok {
			return e
		}
	}
	if d.Notes {
		return Note
	}
	return Raise
}

// with returns the findings whose effect is the given one or one before it.
func (d *Detection) with(found []detect.Finding, least FindingEffect) []detect.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f detect.Finding) bool { return d.effect(f) > least })
}

// only returns the findings of medium and high confidence with this effect.
func (d *Detection) only(found []detect.Finding, effect FindingEffect) []detect.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f detect.Finding) bool {
		return d.effect(f) != effect || f.Confidence == detect.Low
	})
}

// persons is how many persons an answer has to name by addresses or numbers before it counts as data about persons.
const persons = 5

// maxScanned is how much of a text is searched, in bytes.
const maxScanned = 8 << 20

// detected is the outcome of searching a text.
type detected struct {
	facts    policy.Findings
	harmless policy.Findings // of these, what is no sign of an attack
	label    label.Label     // of the findings that are certain
	event    *record.Detection
	by       searched
	alert    string // how the text speaks to the agent as attacks do; "" if it does not
}

// search searches a text of a call: its params, or what its server says.
func (d *Detection) search(ctx context.Context, r *request, phase policy.Phase, text []byte) detected {
	if d.Detector == nil || len(text) == 0 {
		return detected{}
	}
	var tools detect.Named
	if phase == policy.OnResult {
		tools = r.Tools.In(r.Server)
	}
	by := d.scan(text, r.canonical.salt, tools)
	out := d.outcome(text, r.canonical.salt, by, d.sift(ctx, r, phase, text, by))
	if at, ok := r.place(phase); ok && out.event != nil {
		out.event.Reached = at.Reached
	}
	return out
}

// told searches a message of a server, in which no finding is excepted. The agent that may read it has these tools.
func (d *Detection) told(text []byte, tools detect.Named) detected {
	if d.Detector == nil || len(text) == 0 {
		return detected{}
	}
	by := d.scan(text, salt{}, tools)
	return d.outcome(text, salt{}, by, sifted{counts: by.report.Findings})
}

// outcome returns the outcome of a search.
func (d *Detection) outcome(text []byte, key salt, by searched, all sifted) detected {
	out := detected{by: by, event: d.event(text, key, by.failed, all)}
	counting := d.with(all.counts, Redact)
	out.raise(counting, d.Strict)
	if out.facts = factsOf(counting); len(counting) > 0 {
		out.harmless = unsuspicious(counting)
	}
	out.facts.Incomplete = by.failed != "" && !d.Notes
	return out
}

// event returns the outcome of a search for the event of the decision; nil if there is nothing to say.
func (d *Detection) event(text []byte, key salt, failed string, all sifted) *record.Detection {
	if failed == "" && len(all.counts) == 0 && len(all.excepted) == 0 {
		return nil
	}
	out := &record.Detection{Incomplete: failed, Findings: findings(text, key, d.with(all.counts, Note))}
	for _, id := range slices.Sorted(maps.Keys(all.excepted)) {
		for _, f := range findings(text, key, d.with(all.excepted[id], Note)) {
			if f.Exception = id; len(out.Findings) < record.MaxFindings {
				out.Findings = append(out.Findings, f)
			}
		}
	}
	if failed == "" && len(out.Findings) == 0 {
		return nil
	}
	return out
}

// Findings is the type of evidence whose record is content.detection of the event of the decision: the findings with
// their rules, places and salted digests.
const Findings = "dev.weir/findings.v1"

// evidence returns the reference to the findings that raise the label of an answer; nil if there are none.
func (out *detected) evidence(call string) (*annotation.Evidence, error) {
	if out.label.IsZero() || out.event == nil {
		return nil, nil
	}
	sum, err := annotation.Digest(annotation.JCS, must(json.Marshal(out.event)))
	if err != nil {
		return nil, err
	}
	why := &annotation.Evidence{Type: Findings, Digest: sum, Canonicalization: annotation.JCS}
	if ref := "urn:weir:call:" + url.PathEscape(call); call != "" && len(ref) <= record.MaxRef {
		why.Ref = ref
	}
	return why, nil
}

// A searched is the report of a search, and why a part of the text was not searched; "" if all of it was.
type searched struct {
	report detect.Report
	failed string
	tools  detect.Named // that the agent has
}

// scan searches a text.
func (d *Detection) scan(text []byte, key salt, tools detect.Named) searched {
	report, failed := scanned(d.Detector, text[:min(len(text), maxScanned)], key, tools)
	switch {
	case failed != "":
	case report.Failed != "":
		failed = report.Failed
	case len(text) > maxScanned:
		failed = fmt.Sprintf("it has more than %d bytes", maxScanned)
	case report.Cut:
		failed = "it takes too long to search, or has too many findings"
	}
	return searched{report, failed, tools}
}

// raise finds the label of findings, and the alert.
func (out *detected) raise(found []detect.Finding, strict bool) {
	least, many, alarming := detect.High, persons, detect.Malicious
	if strict {
		least, many, alarming = detect.Medium, 1, detect.Untrusted
	}
	named := map[detect.Kind]map[string]bool{} // values by kind: one person may have several kinds
	for _, f := range found {
		switch {
		case f.Class == detect.Injection:
			out.label.Untrusted = out.label.Untrusted || f.Level() != detect.Note
			if out.alert == "" && (f.Level() == detect.Malicious || f.Level() == alarming) {
				out.alert = f.Why
			}
		case f.Class == detect.Personal && f.Confidence >= detect.Medium:
			if named[f.Kind] == nil {
				named[f.Kind] = map[string]bool{}
			}
			if named[f.Kind][f.Digest] = true; len(named[f.Kind]) == many {
				out.label.Sensitivity = out.label.Sensitivity.Union(label.SetOf(label.PII))
			}
		case f.Class != detect.Personal && f.Confidence >= least:
			out.label.Sensitivity = out.label.Sensitivity.Union(label.SetOf(classOf(f)))
		}
	}
	out.label = out.label.Normal()
}

// factsOf returns findings as policy reads them.
func factsOf(all []detect.Finding) (out policy.Findings) {
	var certain, likely, kinds, paths []string
	for _, f := range all {
		if f.Confidence == detect.Low {
			continue
		}
		name := string(f.Level())
		if name == "" {
			name = string(f.Class)
		}
		if likely = append(likely, name); f.Confidence == detect.High {
			certain = append(certain, name)
		}
		kinds, paths = append(kinds, string(f.Kind)), append(paths, f.Path)
		out.Count++
	}
	out.Certain, out.Likely = label.SetOf(certain...), label.SetOf(likely...)
	out.Kinds, out.Paths = label.SetOf(kinds...), label.SetOf(paths...)
	return out
}

// scanned searches a text, and returns why that failed. A detector that panics has found nothing.
func scanned(d Detector, text []byte, key salt, tools detect.Named) (report detect.Report, failed string) {
	defer func() {
		if problem := recover(); problem != nil {
			report, failed = detect.Report{}, "the detector panicked"
		}
	}()
	if named, ok := d.(NamedDetector); ok {
		return named.ScanNamed(text, detect.JSON, key[:], tools), ""
	}
	return d.Scan(text, detect.JSON, key[:]), ""
}

// classOf returns the class of a finding. A class that labels do not know counts as sensitive.
func classOf(f detect.Finding) label.Class {
	switch f.Class {
	case detect.Personal:
		return label.PII
	case detect.Credentials:
		return label.Credentials
	case detect.Financial:
		return label.Financial
	}
	return label.Unspecified // a canary, or a class of a detector that labels do not know
}

// findings returns findings as events have them: the most certain ones, and of these data about persons last. Numbers of
// cards, accounts and persons are too few to be told by a digest only to those who have them.
func findings(text []byte, key salt, all []detect.Finding) (out []record.Finding) {
	all = slices.DeleteFunc(slices.Clone(all), func(f detect.Finding) bool {
		return f.Confidence == detect.Low
	})
	last := func(f detect.Finding) int {
		if f.Class == detect.Personal {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b detect.Finding) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(b.Confidence, a.Confidence))
	})
	in := &values{text: text}
	for _, f := range all[:min(len(all), record.MaxFindings)] {
		one := record.Finding{Kind: string(f.Kind), Confidence: f.Confidence.String(), Offset: f.Offset, Size: f.Size}
		if one.Level = string(f.Level()); one.Level == "" {
			one.Class = classOf(f)
		}
		if len(f.Path) <= record.MaxPath {
			one.Path = f.Path
		}
		if f.Class == detect.Credentials {
			one.Digest = f.Digest
		}
		if value := in.of(&f); value != nil && (f.Class == detect.Credentials || f.Class == detect.Injection) {
			if one.Raw = key.digest(value); one.Raw == one.Digest {
				one.Raw = ""
			}
		}
		out = append(out, one)
	}
	return out
}
