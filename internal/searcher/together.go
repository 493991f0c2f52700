package searcher

import (
	"sync"

	"github.com/weir-mcp/weir/detect"
)

// A Detector searches a text. [detect.Scanner] and [Searcher] are two.
type Detector interface {
	Scan(text []byte, form detect.Form, salt []byte) detect.Report
}

// Together are detectors that search a text at the same time. Each counts, whatever becomes of the others.
type Together []Detector

// A named detector knows the tools of the agent that reads the text, too.
type named interface {
	ScanNamed(text []byte, form detect.Form, salt []byte, tools detect.Named) detect.Report
}

// Scan implements Detector.
func (t Together) Scan(text []byte, form detect.Form, salt []byte) detect.Report {
	return t.ScanNamed(text, form, salt, detect.Named{})
}

// ScanNamed is Scan of a text that an agent with these tools reads.
func (t Together) ScanNamed(text []byte, form detect.Form, salt []byte, tools detect.Named) (report detect.Report) {
	reports := make([]detect.Report, len(t))
	var all sync.WaitGroup
	for i, d := range t {
		all.Go(func() { reports[i] = guarded(d, text, form, salt, tools) })
	}
	all.Wait()
	if form == detect.JSON {
		locateAll(text, reports)
	}
	for _, r := range reports {
		report.Findings = append(report.Findings, r.Findings...)
		report.Under = append(report.Under, r.Under...)
		report.Cut = report.Cut || r.Cut
		if report.Failed == "" {
			report.Failed = r.Failed
		}
	}
	return report
}

// locateAll finds the members of all findings again: a name may be the value of another detector's finding.
func locateAll(text []byte, reports []detect.Report) {
	all, whole := [][]detect.Finding{}, true
	for _, r := range reports {
		all, whole = append(all, r.Findings, r.Under), whole && !r.Cut && r.Failed == ""
	}
	detect.Locate(text, whole, all...)
}

// guarded searches a text. A detector that panics has found nothing.
func guarded(d Detector, text []byte, form detect.Form, salt []byte, tools detect.Named) (report detect.Report) {
	defer func() {
		if problem := recover(); problem != nil {
			report = detect.Report{Failed: "a detector panicked"}
		}
	}()
	if n, ok := d.(named); ok {
		return n.ScanNamed(text, form, salt, tools)
	}
	return d.Scan(text, form, salt)
}
