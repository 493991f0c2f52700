package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/label"
)

// The kinds of events by which the log proves the state that is kept beside it. A store writes them, in the transaction
// that they tell of.
const (
	StateRow Kind = "state"  // a row of the state is from now on as its member state says, with Label, Session, Parent, Principal and Binding
	Damage   Kind = "damage" // a row differs from the log's proof, as Message says: no decision uses it
)

// The tables of the state.
const (
	SessionTable  = "session"
	TaintTable    = "taint"
	QuestionTable = "question"
	ValueTable    = "hidden"
)

// Expired is why a row was removed that was too old: see [State].
const Expired = "expired"

// A State is one row of the state without its label, its times of use and members that can be derived from others.
// Times are in microseconds since 1970; 0 is none. States can be compared.
type State struct {
	Table   string `json:"table"`
	Key     string `json:"key,omitempty"`     // of the session, the resource, the question or the value
	Gone    string `json:"gone,omitempty"`    // why the row was removed; the other members are empty then, but for Expires
	Answer  string `json:"answer,omitempty"`  // of a question
	Note    string `json:"note,omitempty"`    // of a value that is kept with a session
	Digest  string `json:"digest,omitempty"`  // of the other members of a question, or of the body of a value
	Created int64  `json:"created,omitempty"` // when a session was opened, a resource written to last, a question asked
	Expires int64  `json:"expires,omitempty"` // of a session that is [Expired]: it was not heard of since

	Session   string `json:"-"` // these are the event's own
	Parent    string `json:"-"`
	Principal string `json:"-"`
	Binding   string `json:"-"`
}

// A Kept is a row of the state, whole as the log proves it.
type Kept struct {
	State
	Label label.Label
	Calls *int64 // of a session: how many it has made until then; nil: the event does not tell
}

// Same reports whether both are the same row, but for calls.
func (k *Kept) Same(o *Kept) bool { return k.State == o.State && k.Label.Equal(o.Label) }

// Live reports whether the row is to be there at a time, in microseconds since 1970: it was not removed, and has not
// expired.
func (s *State) Live(now int64) bool { return s.Gone == "" && (s.Expires == 0 || s.Expires > now) }

// Left returns the row once it was removed.
func (k *Kept) Left(why string) Kept {
	return Kept{State: State{Table: k.Table, Key: k.Key, Binding: k.Binding, Session: k.Session, Principal: k.Principal, Gone: why}}
}

// Shared reports whether the row's chain has the events of other rows, too.
func (s *State) Shared() bool { return s.Table == QuestionTable || s.Table == ValueTable }

// Chain returns the name of the chain that has all events of the row: its own, or for questions that of all with one
// binding, and for values that of all of one session.
func (s *State) Chain() string {
	switch s.Table {
	case QuestionTable:
		return StateChain + s.Table + "/" + s.Binding
	case ValueTable:
		return StateChain + s.Table + "/" + s.Session
	}
	return StateChain + s.Table + "/" + s.Key
}

// StateChain begins the names of the chains of the state, and of no others.
const StateChain = "state:"

// A stateEvent is an event of kind [StateRow]: an [Event] of few members, with the row.
type stateEvent struct {
	V         int         `json:"v"`
	Time      time.Time   `json:"time"`
	Kind      Kind        `json:"kind"`
	Session   string      `json:"session,omitempty"`
	Parent    string      `json:"parent,omitempty"`
	Principal string      `json:"principal,omitempty"`
	Binding   string      `json:"binding,omitempty"`
	Label     label.Label `json:"label,omitzero"`
	State     State       `json:"state"`
}

// Event returns the JSON of the event of kind [StateRow] that says so.
func (k *Kept) Event(now time.Time) ([]byte, error) {
	s := k.State
	if s.Table == SessionTable {
		s.Key = "" // its event names it
	}
	body, err := json.Marshal(stateEvent{Version, now, StateRow, s.Session, s.Parent, s.Principal, s.Binding, k.Label, s})
	if err == nil && k.Calls != nil {
		body, _ = WithCalls(body, *k.Calls)
	}
	return body, err
}

// ParseState reads the JSON of an event of kind [StateRow].
func ParseState(body []byte) (Kept, error) {
	var e stateEvent
	if err := json.Unmarshal(body, &e); err != nil {
		return Kept{}, fmt.Errorf("reading an event of the state: %w", err)
	}
	if e.Kind != StateRow || e.State.Table == "" {
		return Kept{}, errors.New("reading an event of the state: it is another")
	}
	s := e.State
	s.Session, s.Parent, s.Principal, s.Binding = e.Session, e.Parent, e.Principal, e.Binding
	if s.Table == SessionTable {
		s.Key = e.Session
	}
	k := Kept{State: s, Label: e.Label}
	if calls, ok := CallsOf(body); ok {
		k.Calls = &calls
	}
	return k, nil
}
