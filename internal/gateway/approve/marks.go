package approve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// Decisions that last longer than one call are kept beside the questions, under bindings of their own.
const (
	grantPrefix = "grant:"
	planPrefix  = "plan:" // of the calls of a step of a plan
	endPrefix   = store.EndPrefix
	beginPrefix = "begin:" // of an agent session that a person has begun in place of another
	pastPrefix  = "past:"  // of that other

	exceptionPrefix = "exception:" // of detection
	conductPrefix   = "conduct:"   // of a server

	grantLife = 12 * time.Hour
	endLife   = 30 * 24 * time.Hour
	beginLife = 100 * 365 * 24 * time.Hour
)

// marks keep the decisions of users that last longer than one call, beside the approval requests: grants for a session,
// and the ends and the beginnings of agent sessions.
type marks struct {
	store    store.Approvals
	record   record.Recorder
	sessions Sessions // nil: calls name their parents

	mu    sync.Mutex
	going *bounded.Map[mark, time.Time] // when there was seen to be no mark of a session
	count int                           // sessions that this process has marked as ended
}

func newMarks(s store.Approvals, r record.Recorder, sessions Sessions) *marks {
	return &marks{store: s, record: r, sessions: sessions, going: bounded.NewMap[mark, time.Time](maxGoing)}
}

func isStanding(binding string) bool {
	prefixes := []string{grantPrefix, planPrefix, endPrefix, beginPrefix, pastPrefix, exceptionPrefix, conductPrefix}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(binding, prefix) })
}

// stop marks an agent session and its descendants as ended, and declines their open questions.
func (m *marks) stop(ctx context.Context, key, principal string) error {
	if err := m.mark(ctx, key, principal); err != nil {
		return err
	}
	family, err := m.family(ctx, key, principal)
	if err != nil {
		return err
	}
	for _, descendant := range family {
		if err := m.mark(ctx, descendant, principal); err != nil {
			return err
		}
	}
	return m.refuseAll(ctx, append(family, key), principal)
}

// mark marks one agent session as ended.
func (m *marks) mark(ctx context.Context, key, principal string) error {
	binding := endBinding(key, principal)
	err := m.keep(ctx, store.Question{Principal: principal, Session: key, Binding: binding}, endLife)
	m.mu.Lock()
	m.going.Clear() // those that descend from it have ended too
	m.count++
	m.mu.Unlock()
	return err
}

// family returns the keys of the sessions that are known to descend from one.
func (m *marks) family(ctx context.Context, key, principal string) (keys []string, err error) {
	if m.sessions == nil {
		return nil, nil
	}
	children := map[string][]string{}
	for s, err := range m.sessions.List(ctx, principal) {
		if err != nil {
			return nil, fmt.Errorf("reading the descendants of a session: %w", err)
		}
		if s.Parent != "" {
			children[s.Parent] = append(children[s.Parent], s.Key)
		}
	}
	for next := children[key]; len(next) > 0; next = next[1:] { // a store has no cycles
		keys = append(keys, next[0])
		next = append(next, children[next[0]]...)
	}
	return keys, nil
}

// refuseAll closes the open questions of agent sessions that have ended.
func (m *marks) refuseAll(ctx context.Context, keys []string, principal string) error {
	for q, err := range m.store.Questions(ctx, store.QuestionQuery{Principal: principal, Open: true}) {
		if err != nil {
			return fmt.Errorf("reading questions: %w", err)
		}
		if !slices.Contains(keys, q.Session) {
			continue
		}
		_, err = m.store.Answer(ctx, q.ID, principal, store.Declined)
		if err != nil && !errors.Is(err, store.ErrNoQuestion) {
			return mapped(err)
		}
	}
	return nil
}

func endBinding(key, principal string) string { return bindingOf(endPrefix, key, principal) }

func bindingOf(prefix, key, principal string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(principal), principal, key)))
	return prefix + hex.EncodeToString(sum[:])
}

// Begin keeps that a person has begun an agent session in place of another. It is recorded by the caller, first.
func (m *marks) Begin(ctx context.Context, past, next session.Ref) error {
	for _, q := range []store.Question{
		{Principal: next.Principal, Session: next.Key, Binding: bindingOf(beginPrefix, next.Key, next.Principal)},
		{Principal: past.Principal, Session: past.Key, Binding: bindingOf(pastPrefix, past.Key, past.Principal)},
	} {
		if err := m.keep(ctx, q, beginLife); err != nil {
			return err
		}
	}
	return nil
}

// HasBegun reports whether a person has begun the agent session in place of another.
func (m *marks) HasBegun(ctx context.Context, ref session.Ref) (bool, error) {
	return m.stands(ctx, bindingOf(beginPrefix, ref.Key, ref.Principal))
}

// IsPast reports whether a user has begun another agent session in place of this one. The decision of another process
// counts here within half a second.
func (m *marks) IsPast(ctx context.Context, ref session.Ref) (bool, error) {
	return m.lately(mark{pastPrefix, ref}, func() (bool, error) {
		return m.stands(ctx, bindingOf(pastPrefix, ref.Key, ref.Principal))
	})
}

func (m *marks) keep(ctx context.Context, q store.Question, life time.Duration) error {
	q.ID, q.Expires = rand.Text(), time.Now().Add(life)
	if err := m.store.Ask(ctx, q); err != nil {
		return mapped(err)
	}
	_, err := m.store.Answer(ctx, q.ID, q.Principal, store.Accepted)
	return mapped(err)
}

// stands reports whether something was kept under the binding.
func (m *marks) stands(ctx context.Context, binding string) (bool, error) {
	for q, err := range m.store.Questions(ctx, store.QuestionQuery{Binding: binding}) {
		if err != nil {
			return false, fmt.Errorf("reading the decisions about sessions: %w", err)
		}
		if q.Answer == store.Accepted {
			return true, nil
		}
	}
	return false, nil
}

// An Ending is a person's word that an agent session is over.
type Ending struct {
	Session session.Ref // Key and Principal are required
	Why     string      // required
	By      string      // the person, as far as the channel knows
	Via     string      // the channel, as in a Reply
}

// End ends an agent session and its descendants: nothing more happens in them until the mark expires after 30 days. All
// ends of sessions pass here: the event is of kind [record.End], and it is recorded first.
func (m *marks) End(ctx context.Context, end Ending) error {
	switch {
	case end.Session.Key == "" || end.Session.Principal == "":
		return errors.New("ending a session: which one?")
	case end.Why == "":
		return errors.New("ending a session: why?")
	}
	e := record.New(record.End, time.Now())
	e.Session, e.Parent, e.Principal = end.Session.Key, end.Session.Parent, end.Session.Principal
	e.Effect, e.Message, e.Where = string(Ended), end.Why, end.Via
	if end.By != "" {
		e.Where = strings.TrimSuffix(end.By+", "+end.Via, ", ")
	}
	if err := m.record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the end of a session: %w", err)
	}
	return m.stop(ctx, end.Session.Key, end.Session.Principal)
}

// HasEnded reports whether a user has ended the agent session, or one that it descends from: then it counts as ended
// from now on, also if it names another parent later. The decision of another process counts here within half a second.
// The session's own row, which the log proves, names its parent: hidden rows of other sessions do not change that.
func (m *marks) HasEnded(ctx context.Context, ref session.Ref) (bool, error) {
	return m.lately(mark{endPrefix, ref}, func() (bool, error) {
		key, parent := ref.Key, ref.Parent
		for range store.MaxDepth + 2 {
			ended, err := m.stands(ctx, endBinding(key, ref.Principal))
			if err == nil && ended && key != ref.Key {
				err = m.stop(ctx, ref.Key, ref.Principal)
			}
			if err != nil || ended {
				return ended, err
			}
			if key, err = parentOf(ctx, m.sessions, key, parent); err != nil || key == "" {
				return false, err
			}
			parent = ""
		}
		return false, fmt.Errorf("session %.200q: %w: it has too many ancestors", ref.Key, store.ErrParent)
	})
}

// parentOf returns the parent of a session: the one that is kept, of which no session is its own ancestor, or else the
// one that a call names.
func parentOf(ctx context.Context, sessions Sessions, key, named string) (string, error) {
	if sessions == nil {
		return named, nil
	}
	s, err := sessions.Snapshot(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return named, nil
	case err != nil:
		return "", fmt.Errorf("reading the parent of a session: %w", err)
	}
	return cmp.Or(s.Parent, named), nil
}

// endedFresh is how long a session counts as not ended without another look.
const endedFresh = 500 * time.Millisecond

// A mark is one of a session, as a call names that.
type mark struct {
	prefix  string // of its binding
	session session.Ref
}

// lately returns the result of look, or false if look returned that a moment ago.
func (m *marks) lately(key mark, look func() (bool, error)) (bool, error) {
	now := time.Now()
	m.mu.Lock()
	looked, ok := m.going.Get(key)
	count := m.count
	m.mu.Unlock()
	if ok && now.Sub(looked) < endedFresh {
		return false, nil
	}
	yes, err := look()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going.Delete(key)
	if err == nil && !yes && m.count == count { // else a session ended while it looked
		m.going.Set(key, now)
	}
	return yes, err
}

// Sessions are the agent sessions that are kept: [session.Sessions].
type Sessions interface {
	// Snapshot returns a session as the store proves it. The error is [store.ErrNotFound] if it was never opened.
	Snapshot(ctx context.Context, key string) (store.Session, error)

	// List iterates over those of a principal or, for "", all.
	List(ctx context.Context, principal string) iter.Seq2[store.Session, error]
}

// maxGoing is the number of sessions that count as not ended without another look.
const maxGoing = 4096
