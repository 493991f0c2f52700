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

// Scan implements Detector.
func (t Together) Scan(text []byte, form detect.Form, salt []byte) (report detect.Report) {
	reports := make([]detect.Report, len(t))
	var all sync.WaitGroup
	for i, d := range t {
		all.Go(func() { reports[i] = guarded(d, text, form, salt) })
	}
	all.Wait()
	for _, r := range reports {
		report.Findings = append(report.Findings, r.Findings...)
		report.Cut = report.Cut || r.Cut
		if report.Failed == "" {
			report.Failed = r.Failed
		}
	}
	return report
}

// guarded searches a text. A detector that panics has found nothing.
func guarded(d Detector, text []byte, form detect.Form, salt []byte) (report detect.Report) {
	defer func() {
		if problem := recover(); problem != nil {
			report = detect.Report{Failed: "a detector panicked"}
		}
	}()
	return d.Scan(text, form, salt)
}
