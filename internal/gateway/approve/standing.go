package approve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// What a person said that stands for longer than one call is kept beside the questions, under bindings of its own.
const (
	grantPrefix = "grant:"
	endPrefix   = store.EndPrefix
	beginPrefix = "begin:" // of an agent session that a person has begun in place of another
	pastPrefix  = "past:"  // of that other

	grantLife = 12 * time.Hour
	endLife   = 30 * 24 * time.Hour
	beginLife = 100 * 365 * 24 * time.Hour
)

func isStanding(binding string) bool {
	return slices.ContainsFunc([]string{grantPrefix, endPrefix, beginPrefix, pastPrefix}, func(prefix string) bool { return strings.HasPrefix(binding, prefix) })
}

// grant keeps that calls like the one in question may happen.
func (b *Book) grant(ctx context.Context, p *Pending) error {
	return b.keep(ctx, store.Question{Principal: p.Principal, Session: p.Session, Binding: grantPrefix + p.Grant}, grantLife)
}

// stop keeps that an agent session, and what descends from it, may do nothing more, and refuses what is open of it.
func (b *Book) stop(ctx context.Context, key, principal string) error {
	if err := b.mark(ctx, key, principal); err != nil {
		return err
	}
	family, err := b.family(ctx, key, principal)
	if err != nil {
		return err
	}
	for _, descendant := range family {
		if err := b.mark(ctx, descendant, principal); err != nil {
			return err
		}
	}
	return b.refuseAll(ctx, append(family, key), principal)
}

// mark keeps that one agent session may do nothing more.
func (b *Book) mark(ctx context.Context, key, principal string) error {
	binding := endBinding(key, principal)
	err := b.keep(ctx, store.Question{Principal: principal, Session: key, Binding: binding}, endLife)
	b.mu.Lock()
	b.going.Clear() // those that descend from it have ended too
	b.marks++
	b.mu.Unlock()
	return err
}

// family returns the keys of the sessions that are known to descend from one.
func (b *Book) family(ctx context.Context, key, principal string) (keys []string, err error) {
	if b.opts.Sessions == nil {
		return nil, nil
	}
	children := map[string][]string{}
	for s, err := range b.opts.Sessions.List(ctx, principal) {
		if err != nil {
			return nil, fmt.Errorf("reading what descends from a session: %w", err)
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
func (b *Book) refuseAll(ctx context.Context, keys []string, principal string) error {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Principal: principal, Open: true}) {
		if err != nil {
			return fmt.Errorf("reading questions: %w", err)
		}
		if !slices.Contains(keys, q.Session) {
			continue
		}
		_, err = b.opts.Store.Answer(ctx, q.ID, principal, store.Declined)
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
func (b *Book) Begin(ctx context.Context, past, next session.Ref) error {
	for _, q := range []store.Question{
		{Principal: next.Principal, Session: next.Key, Binding: bindingOf(beginPrefix, next.Key, next.Principal)},
		{Principal: past.Principal, Session: past.Key, Binding: bindingOf(pastPrefix, past.Key, past.Principal)},
	} {
		if err := b.keep(ctx, q, beginLife); err != nil {
			return err
		}
	}
	return nil
}

// HasBegun reports whether a person has begun the agent session in place of another.
func (b *Book) HasBegun(ctx context.Context, ref session.Ref) (bool, error) {
	return b.stands(ctx, bindingOf(beginPrefix, ref.Key, ref.Principal))
}

// IsPast reports whether a person has begun another agent session in place of this one. What another process was told counts here within
// half a second.
func (b *Book) IsPast(ctx context.Context, ref session.Ref) (bool, error) {
	binding := bindingOf(pastPrefix, ref.Key, ref.Principal)
	return b.lately(binding, func() (bool, error) { return b.stands(ctx, binding) })
}

func (b *Book) keep(ctx context.Context, q store.Question, life time.Duration) error {
	q.ID, q.Expires = rand.Text(), time.Now().Add(life)
	if err := b.opts.Store.Ask(ctx, q); err != nil {
		return mapped(err)
	}
	_, err := b.opts.Store.Answer(ctx, q.ID, q.Principal, store.Accepted)
	return mapped(err)
}

// stands reports whether something was kept under the binding.
func (b *Book) stands(ctx context.Context, binding string) (bool, error) {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Binding: binding}) {
		if err != nil {
			return false, fmt.Errorf("reading what stands: %w", err)
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

// ending is what a question's answer says of its session.
func (p *Pending) ending(r Reply) Ending {
	e := Ending{Session: session.Ref{Key: p.Session, Parent: p.Parent, Principal: p.Principal}, Why: r.Why, By: r.By, Via: r.Via}
	if e.Why == "" {
		e.Why = "a question of rule " + p.Rule + " was denied"
	}
	return e
}

// End has an agent session do nothing more, and those that descend from it, until what a person said is forgotten after 30
// days. Whoever ends a session does it here: the event is of kind [record.End], and it is recorded first.
func (b *Book) End(ctx context.Context, end Ending) error {
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
	if err := b.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the end of a session: %w", err)
	}
	return b.stop(ctx, end.Session.Key, end.Session.Principal)
}

// HasEnded reports whether a person has ended the agent session, or one that it descends from: then it counts as ended from
// now on, whatever it says of its parent later. What another process was told counts here within half a second. From what a session descends
// the session itself tells, as the log proves it: whoever hides the rows of others changes nothing about that.
func (b *Book) HasEnded(ctx context.Context, ref session.Ref) (bool, error) {
	return b.lately(endBinding(ref.Key, ref.Principal)+" "+ref.Parent, func() (bool, error) {
		key, parent := ref.Key, ref.Parent
		for range store.MaxDepth + 2 {
			ended, err := b.stands(ctx, endBinding(key, ref.Principal))
			if err == nil && ended && key != ref.Key {
				err = b.stop(ctx, ref.Key, ref.Principal)
			}
			if err != nil || ended {
				return ended, err
			}
			if key, err = parentOf(ctx, b.opts.Sessions, key, parent); err != nil || key == "" {
				return false, err
			}
			parent = ""
		}
		return false, fmt.Errorf("session %.200q: %w: it has too many ancestors", ref.Key, store.ErrParent)
	})
}

// HeldSession says why nothing may happen in an agent session: a person has ended it, or it is not the one that counts in its conversation,
// which is the one that a person has begun last, or else the first. The note of that is a file, so the store has to know it too.
func HeldSession(ctx context.Context, b *Book, ref session.Ref, first bool) (why string, err error) {
	ended, err := b.HasEnded(ctx, ref)
	if err != nil || ended {
		return "a person has ended this agent session; nothing more happens in it", err
	}
	past, err := b.IsPast(ctx, ref)
	counts := first
	if err == nil && !past && !first {
		counts, err = b.HasBegun(ctx, ref)
	}
	if err != nil || past || !counts {
		return "the store does not know this agent session as the one that counts in its conversation; begin a new one: weir session new", err
	}
	return "", nil
}

// parentOf returns the parent of a session: the one that is kept, of which no session is its own ancestor, or else the one that a call names.
func parentOf(ctx context.Context, sessions Sessions, key, named string) (string, error) {
	if sessions == nil {
		return named, nil
	}
	s, err := sessions.Snapshot(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return named, nil
	case err != nil:
		return "", fmt.Errorf("reading from what a session descends: %w", err)
	}
	return cmp.Or(s.Parent, named), nil
}

// endedFresh is how long a session counts as not ended without another look.
const endedFresh = 500 * time.Millisecond

// lately returns what look says, or that it said no a moment ago.
func (b *Book) lately(what string, look func() (bool, error)) (bool, error) {
	now := time.Now()
	b.mu.Lock()
	looked, ok := b.going.Get(what)
	marks := b.marks
	b.mu.Unlock()
	if ok && now.Sub(looked) < endedFresh {
		return false, nil
	}
	yes, err := look()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.going.Delete(what)
	if err == nil && !yes && b.marks == marks { // else a session ended while it looked
		b.going.Set(what, now)
	}
	return yes, err
}
