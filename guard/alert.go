package guard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
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

// Bounds of alerts. Beyond those that a session may have at once, one tells that there are more.
const (
	maxAlerts    = 16
	maxAlertText = 400 // bytes
	mostShown    = 4   // alerts in one request, which an acceptance of it answers
	furtherID    = "more-"
	moreID       = "more" // of that which tells of findings beyond those kept; nobody can answer it
	furtherText  = "more results speak to the agent so than the session keeps"
)

// An alert is a result that speaks to the agent as attacks do, until a person has accepted a call after it.
type alert struct{ id, text string }

// alertsIn returns the alerts of a session's label that nobody has answered; those that stand for others come last.
func alertsIn(l label.Label) (all []alert) {
	for finding := range l.Findings.All() { // in ascending order: hexadecimal digits come before furtherID
		if rest, ok := strings.CutPrefix(finding, raisedAlert); ok {
			id, text, _ := strings.Cut(rest, ":")
			if !l.Findings.Has(answeredAlert + id) {
				all = append(all, alert{id, text})
			}
		}
	}
	if l.Findings.Has(session.More) {
		all = append(all, alert{moreID, "the session has more findings than are kept"})
	}
	return all
}

// harmed reports whether a session counts as malicious: by its label, or by alerts that nobody has answered.
func harmed(l label.Label, open []alert) bool { return l.Malicious || len(open) > 0 }

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

// heardIn returns the alert for an agent that gets to know data which was computed from values with a label: the
// first of those of the values.
func heardIn(l label.Label) string {
	if all := alertsIn(l); len(all) > 0 {
		return "data was computed from values of which one had an alert: " + all[0].text
	}
	return ""
}

// raisesAlert returns the label of an answer that speaks to the agent as attacks do, for the agent session that gets to know it.
func raisesAlert(r *request, alert string) label.Label {
	if alert == "" {
		return label.Label{}
	}
	return label.Label{Findings: label.SetOf(raisedAlert + alertID() + ":" + shortened(r.spoken()+" "+alert))}
}

// alertID returns the id of a new alert.
func alertID() string {
	var id [8]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// alarm adds a new alert to the session of a request.
func (v *evidence) alarm(ctx context.Context, r *request, seen label.Label, text string) error {
	return v.alert(ctx, r, seen, alert{alertID(), text})
}

// alert adds an alert to the session of a request.
func (v *evidence) alert(ctx context.Context, r *request, seen label.Label, a alert) error {
	id, text := a.id, a.text
	if open := alertsIn(seen); len(open) >= maxAlerts {
		if slices.ContainsFunc(open, func(a alert) bool { return strings.HasPrefix(a.id, furtherID) }) {
			return nil // that one is shown, and can be answered, when few others are left
		}
		id, text = furtherID+id, furtherText
	}
	return v.note(ctx, r, seen, raisedAlert+id+":"+shortened(text))
}

// answer ends the alerts that a request has shown, after a person has accepted it. It returns the label seen with that.
func (v *evidence) answer(ctx context.Context, r *request, seen label.Label, all []alert) (label.Label, error) {
	var ends []string
	for _, a := range all[:min(len(all), mostShown)] {
		if a.id != moreID {
			ends = append(ends, answeredAlert+a.id)
		}
	}
	if ends == nil {
		return seen, nil
	}
	answered := label.Join(seen, label.Label{Findings: label.SetOf(ends...)})
	return answered, v.note(ctx, r, seen, ends...)
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

// alertIDs returns text that no other list of alerts has. Approvals are bound to it, so that none covers an alert that
// nobody was shown.
func alertIDs(all []alert) string {
	var ids []string
	for _, a := range all {
		ids = append(ids, a.id)
	}
	return strings.Join(ids, " ")
}

// raisedAlerts returns text that no session with other alerts has, answered or not.
func raisedAlerts(l label.Label) string {
	var ids []string
	for finding := range l.Findings.All() {
		if rest, ok := strings.CutPrefix(finding, raisedAlert); ok {
			id, _, _ := strings.Cut(rest, ":")
			ids = append(ids, id)
		} else if finding == session.More {
			ids = append(ids, moreID)
		}
	}
	return strings.Join(ids, " ")
}

// shownAlerts returns the alerts as a request shows them.
func shownAlerts(all []alert) (texts []string) {
	for _, a := range all[:min(len(all), mostShown)] {
		texts = append(texts, a.text)
	}
	if more := len(all) - mostShown; more > 0 {
		texts = append(texts, fmt.Sprintf("there are %d more, which requests after this one show", more))
	}
	return texts
}
