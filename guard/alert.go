package guard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// The findings of a session's label that tell of alerts: a result that speaks to the agent as attacks do, and the acceptance of a call after
// it. Both only ever join in, so every process that shares the store sees them, and the log proves them as it does labels. Policy decides on
// a call after an alert that nobody has answered as in a session that has seen something malicious. No other part of the label says
// so, and what the session writes does not have them: a finding may be wrong.
const (
	raisedAlert   = "urn:weir:alert:"    // and its id, a colon, and its text
	answeredAlert = "urn:weir:answered:" // and the id
)

// Bounds of alerts. One more than a session may have at once changes nothing: its calls ask already.
const (
	maxAlerts    = 4
	maxAlertText = 400 // bytes
)

// An alert is a result that speaks to the agent as attacks do, until a person has accepted a call after it.
type alert struct{ id, text string }

// alertsIn returns the alerts of a session's label that nobody has answered.
func alertsIn(l label.Label) (all []alert) {
	for finding := range l.Findings.All() {
		if finding == session.More {
			all = append(all, alert{text: "the session has more findings than are kept"})
		}
		if rest, ok := strings.CutPrefix(finding, raisedAlert); ok {
			id, text, _ := strings.Cut(rest, ":")
			if !l.Findings.Has(answeredAlert + id) {
				all = append(all, alert{id, text})
			}
		}
	}
	return all
}

// withoutAlerts returns the label without what it tells of alerts.
func withoutAlerts(l label.Label) label.Label {
	told := func(finding string) bool {
		return strings.HasPrefix(finding, raisedAlert) || strings.HasPrefix(finding, answeredAlert)
	}
	if l.Findings.Len() > 0 {
		l.Findings = label.SetOf(slices.DeleteFunc(l.Findings.Slice(), told)...)
	}
	return l
}

// alarm adds an alert to the session of a request.
func (v *evidence) alarm(ctx context.Context, r *request, seen label.Label, text string) error {
	if len(alertsIn(seen)) >= maxAlerts {
		return nil
	}
	var id [8]byte
	rand.Read(id[:]) // never fails
	return v.note(ctx, r, seen, raisedAlert+hex.EncodeToString(id[:])+":"+shortened(text))
}

// answer ends alerts, after a person was shown them and has accepted a call.
func (v *evidence) answer(ctx context.Context, r *request, seen label.Label, all []alert) error {
	var ends []string
	for _, a := range all {
		if a.id != "" {
			ends = append(ends, answeredAlert+a.id)
		}
	}
	if ends == nil {
		return nil
	}
	return v.note(ctx, r, seen, ends...)
}

// note joins findings that tell of alerts into the session of a request.
func (v *evidence) note(ctx context.Context, r *request, seen label.Label, findings ...string) error {
	_, err := v.raise(ctx, &r.Call, seen, label.Label{Findings: label.SetOf(findings...)})
	return err
}

// shortened returns as much of a text as an alert has.
func shortened(text string) string {
	if len(text) <= maxAlertText {
		return text
	}
	end := maxAlertText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// show tells the person who is asked about a call of alerts.
func (v *ruling) show(all []alert) {
	if v.question == nil {
		return
	}
	for _, a := range all {
		v.message += "; " + a.text
		v.question.Message += "; " + a.text
	}
}
