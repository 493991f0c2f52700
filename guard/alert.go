package guard

import (
	"sync"

	"github.com/weir-mcp/weir/session"
)

// maxAlerts is how many agent sessions may have an alert.
const maxAlerts = 1024

// alerts are the agent sessions that have seen a result which speaks to the agent as attacks do, until a person has accepted a call
// after it. Policy decides on such a call as in a session that has seen something malicious. The label of the session stays as
// it is: a finding may be wrong, and what a session writes would have the label for ever.
type alerts struct {
	mu    sync.Mutex
	texts map[string]string // by the key of the session
	order []string          // keys, oldest first
}

// add adds an alert, with a text for the person. The session that began this one gets it too: it acts on the results of the other.
func (a *alerts) add(ref session.Ref, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.texts == nil {
		a.texts = map[string]string{}
	}
	for _, key := range []string{ref.Key, ref.Parent} {
		if key == "" {
			continue
		}
		if _, ok := a.texts[key]; !ok {
			a.order = append(a.order, key)
		}
		a.texts[key] = text
		if len(a.order) > maxAlerts {
			delete(a.texts, a.order[0])
			a.order = a.order[1:]
		}
	}
}

// text returns the alert of a session, or else that of the session that began it; "" if there is none.
func (a *alerts) text(ref session.Ref) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if text := a.texts[ref.Key]; text != "" {
		return text
	}
	return a.texts[ref.Parent]
}

// show tells the person of the alert who is asked about a call, and ends it if a person has accepted the call.
func (a *alerts) show(v *ruling, ref session.Ref, text string) {
	if v.question != nil {
		v.message += "; " + text
		v.question.Message += "; " + text
	}
	if v.approval.exact {
		a.end(ref, text)
	}
}

// end ends the alert of a session. A text that came meanwhile stays.
func (a *alerts) end(ref session.Ref, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []string{ref.Key, ref.Parent} {
		if a.texts[key] == text {
			a.texts[key] = "" // the key stays in the order
		}
	}
}
