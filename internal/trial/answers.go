package trial

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// maxAsked is how many recorded calls Suggest keeps in memory.
const maxAsked = 200_000

// The answers to a call that a person was asked about. A later one in this list outweighs an earlier one.
const (
	unanswered = ""
	accepted   = "accepted" // granted for the session, too
	disputed   = "disputed" // a yes that came second, whatever the first was
	refused    = "refused"  // declined, ended or cancelled
)

// An asking is one approval request: the decisions that led to it, and its answer.
type asking struct {
	first  string // the id of the first of these decisions
	answer string
}

// answers finds the answers to recorded decisions.
type answers struct {
	latest map[string]*asking // by binding
	of     map[string]*asking // by the id of the decision
	began  map[string]string  // the session that began a session
}

func newAnswers() answers {
	return answers{latest: map[string]*asking{}, of: map[string]*asking{}, began: map[string]string{}}
}

// conversation returns the session from which that of an event came, over all that the log tells: all that one session
// began are one conversation, for which one person may answer.
func (a *answers) conversation(e *record.Event) string {
	root := e.Session
	for range len(a.began) + 1 {
		parent := a.began[root]
		if parent == "" {
			return root
		}
		root = parent
	}
	return "" // each began another: the log is not to be trusted on them
}

// add takes in an event, in the order of the record.
func (a *answers) add(e *record.Event) error {
	if e.Parent != "" {
		if len(a.began) == maxAsked {
			return errors.New("the log has too many sessions")
		}
		a.began[e.Session] = e.Parent
	}
	switch {
	case e.Binding == "":
	case e.Kind == record.Decision && e.Phase == policy.OnCall.String() && e.Effect == policy.Ask.String():
		if len(a.of) == maxAsked {
			return errors.New("the log has too many approval requests")
		}
		now := a.latest[e.Binding]
		if now == nil || now.answer != unanswered {
			now = &asking{first: e.ID}
			a.latest[e.Binding] = now
		}
		a.of[e.ID] = now
	case e.Kind == record.Approval:
		if now := a.latest[e.Binding]; now != nil {
			now.answer = weightier(now.answer, answerOf(e.Effect))
		}
	}
	return nil
}

// answerOf returns the answer that the effect of an event of an approval means. Words that nobody knows are no.
func answerOf(effect string) string {
	switch effect {
	case "asked", "expired":
		return unanswered
	case "accepted", "granted":
		return accepted
	case "void":
		return disputed
	}
	return refused
}

func weightier(a, b string) string {
	order := []string{unanswered, accepted, disputed, refused}
	return slices.MaxFunc([]string{a, b}, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
}

// decided reports whether the event is the decision of a policy about a call.
func decided(e *record.Event) bool {
	return e.Kind == record.Decision && e.Phase == policy.OnCall.String() && !strings.HasPrefix(e.Rule, "weir:")
}

// A target is a tool of a server with the destinations of a call; without these, all calls of the tool.
type target struct{ server, method, name, destinations string }

func tool(e *record.Event) target { return target{e.Server, e.Method, e.Name, ""} }

// targetOf returns the target of a call. ok is false if the log does not hold its destinations, or it has none.
func targetOf(e *record.Event, g *policy.ParsedFacts) (t target, ok bool) {
	t = tool(e)
	if !g.Roles.Known || slices.Contains(g.Hidden, "call.destinations") || len(g.Roles.Destinations) == 0 {
		return t, false
	}
	var all []string
	for _, d := range g.Roles.Destinations {
		all = append(all, d.Text)
	}
	slices.Sort(all)
	t.destinations = strings.Join(slices.Compact(all), "\x00")
	return t, !strings.Contains(strings.Join(all, ""), "\x00")
}

// tool returns the target without its destinations.
func (t target) tool() target {
	t.destinations = ""
	return t
}

// list returns the destinations.
func (t target) list() []string { return strings.Split(t.destinations, "\x00") }

// An Asked is a recorded call about which policy had a person asked.
type Asked struct {
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Answer  string    `json:"answer"` // accepted; "" if nobody answered, or nobody was asked
}

// Allowed are the calls of the log that a change would have allowed, in their order.
type Allowed struct {
	Calls   []Asked `json:"calls"`
	Covered int     `json:"covered"` // calls that an answer had allowed already
}

// note adds a call that would have been allowed.
func (a *Allowed) note(e *record.Event, ask *asking) {
	if ask == nil && e.Effect == policy.Allow.String() {
		a.Covered++
		return
	}
	call := Asked{Event: e.ID, Time: e.Time, Session: e.Session}
	if ask != nil {
		call.Answer = ask.answer
	}
	a.Calls = append(a.Calls, call)
}
