package guard

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/label"
)

// A Heard is the label of text that hosts were sent outside of results, such as log messages. Where nothing says which
// agent session reads it, it enters each of them with its next call: see [Call.Context]. The zero Heard is ready to use,
// and safe for concurrent use.
type Heard struct {
	mu     sync.Mutex
	label  label.Label
	alerts []string // the last of the findings that tell of alerts
}

// Label returns the label, with the last alerts.
func (h *Heard) Label() label.Label {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.alerts) == 0 {
		return h.label
	}
	return label.Join(h.label, label.Label{Findings: label.SetOf(h.alerts...)})
}

// Join adds a label.
func (h *Heard) Join(l label.Label) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for finding := range l.Findings.All() {
		if strings.HasPrefix(finding, raisedAlert) {
			h.alerts = append(h.alerts, finding)
		}
	}
	h.alerts = slices.Clone(h.alerts[max(0, len(h.alerts)-maxAlerts):])
	if l = withoutAlerts(l); !h.label.Covers(l) {
		h.label = label.Join(h.label, l)
	}
}

// heard adds the alerts of a label to the session of a request, unless it has them. It returns the label seen with
// that.
func (v *evidence) heard(ctx context.Context, r *request, seen, l label.Label) (label.Label, error) {
	for _, a := range alertsIn(l) {
		if finding := raisedAlert + a.id + ":" + a.text; a.id != moreID && !seen.Findings.Has(finding) {
			if err := v.alert(ctx, r, seen, a); err != nil {
				return seen, err
			}
			seen = label.Join(seen, label.Label{Findings: label.SetOf(finding)})
		}
	}
	return seen, nil
}
