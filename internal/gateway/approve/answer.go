package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// Find returns the question with this id, if it is the principal's and has not expired. It may have been answered.
func (b *Book) Find(ctx context.Context, id, principal string) (*Pending, error) {
	if id == "" {
		return nil, ErrNoQuestion
	}
	if p := b.local.find(id); p != nil {
		if p.Principal != principal {
			return nil, ErrPrincipal
		}
		return p, nil
	}
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{ID: id}) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading a question: %w", err)
		case q.Principal != principal:
			return nil, ErrPrincipal
		}
		return restore(q)
	}
	return nil, ErrNoQuestion
}

// List returns the open questions of the principal, or of all if it is "", the oldest first.
func (b *Book) List(ctx context.Context, principal string) ([]*Pending, error) {
	var all []*Pending
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Principal: principal, Open: true}) {
		if err != nil {
			return nil, fmt.Errorf("reading questions: %w", err)
		}
		if isStanding(q.Binding) {
			continue
		}
		p, err := restore(q)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// restore reads a question that was kept.
func restore(q store.Question) (*Pending, error) {
	p := &Pending{ID: q.ID, Principal: q.Principal, Session: q.Session, Binding: q.Binding, Asked: q.Asked, Expires: q.Expires}
	if isStanding(q.Binding) {
		return nil, ErrNoQuestion
	}
	if err := json.Unmarshal(q.Body, &p.Body); err != nil {
		return nil, fmt.Errorf("reading the question %.64q: %w", q.ID, err)
	}
	return p, nil
}

// Count returns how many approval requests of this process are open.
func (b *Book) Count() int { return b.local.count() }

// Close forgets an approval request for whose answer nothing waits any longer in this process, with the answer of the
// server that it holds.
func (b *Book) Close(p *Pending) { b.local.remove(p) }

// Answer closes a question. Only Accepted and Granted let the call happen, and only if that could be recorded. The
// errors are ErrNoQuestion if it is not open, which an earlier answer may be the reason of; ErrPrincipal; ErrNoGrant
// and ErrUnseen, which leave it open; and those of the store and the record.
func (b *Book) Answer(ctx context.Context, r Reply) error {
	b.answering.Lock()
	defer b.answering.Unlock()
	p, err := b.Find(ctx, r.ID, r.Principal)
	if err != nil {
		return err
	}
	switch before, err := said(ctx, b.opts.Store, p.ID); {
	case err != nil:
		return err
	case before != "":
		return ErrNoQuestion
	case r.Answer == Granted && p.Grant == "":
		return ErrNoGrant
	case r.Answer.Yes() && !p.confirmed(r.Code):
		return ErrUnseen
	}
	if err := b.write(ctx, p, string(r.Answer), r); err != nil {
		return err
	}
	if r.Answer == Ended { // its question is one of those that this refuses
		b.local.closed(p)
		return b.End(ctx, p.ending(r))
	}
	answer := store.Declined
	if r.Answer.Yes() {
		answer = store.Accepted
	}
	_, err = b.opts.Store.Answer(ctx, p.ID, r.Principal, answer)
	b.local.closed(p)
	if err != nil {
		return errors.Join(mapped(err), b.write(ctx, p, "void", Reply{Via: "another answer came first"}))
	}
	if r.Answer == Granted {
		return b.keep(ctx, store.Question{Principal: p.Principal, Session: p.Session, Binding: grantPrefix + p.Grant}, grantLife)
	}
	return nil
}

// Await returns the answer to the question, given in any process, once there is one: Accepted or Declined.
// The error is ErrNoQuestion if the question has expired, or that of the context or the store.
func (b *Book) Await(ctx context.Context, id string) (Answer, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		answered := b.answered() // before the look: no answer falls between
		said, err := said(ctx, b.opts.Store, id)
		if err != nil || said != "" {
			return said, err
		}
		select {
		case <-answered:
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// answered returns a channel that is closed when the store tells of an answer; nil if it does not do that.
func (b *Book) answered() <-chan struct{} {
	if a, ok := b.opts.Store.(store.Announcer); ok {
		return a.Answered()
	}
	return nil
}

// Waits reports whether the question with this id is still open.
func (b *Book) Waits(ctx context.Context, id string) (bool, error) {
	said, err := said(ctx, b.opts.Store, id)
	if errors.Is(err, ErrNoQuestion) {
		return false, nil
	}
	return err == nil && said == "", err
}

// Stands reports whether a question was answered with yes, and is not too old. An acceptance that was used up does.
func (b *Book) Stands(ctx context.Context, id string) bool {
	said, err := said(ctx, b.opts.Store, id)
	return err == nil && said == Accepted
}

// ending returns the ending of the session by an answer to its question.
func (p *Pending) ending(r Reply) Ending {
	e := Ending{Session: session.Ref{Key: p.Session, Parent: p.Parent, Principal: p.Principal}, Why: r.Why, By: r.By, Via: r.Via}
	if e.Why == "" {
		e.Why = "a question of rule " + p.Rule + " was denied"
	}
	return e
}
