package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/store"
)

// A Reply is a person's answer, and how it came.
type Reply struct {
	ID        string // of the question
	Principal string // who answers
	Answer    Answer // a word that nobody knows is no
	Via       string // the channel, as the record names it: "host", "command line", "console", "webhook"
	Code      string // of the listing, for a yes to a request whose prompt leaves something out
	By        string // the person, as far as the channel knows: as untrusted as that is
	Why       string // for Ended: the reason that the record keeps; "" for the question's own
}

// Find returns the question with this id, if it is the principal's and has not expired. It may have been answered.
func (b *Book) Find(ctx context.Context, id, principal string) (*Pending, error) {
	if id == "" {
		return nil, ErrNoQuestion
	}
	b.mu.Lock()
	b.forget(time.Now())
	p, ok := b.local[id]
	b.mu.Unlock()
	switch {
	case ok && p.Principal != principal:
		return nil, ErrPrincipal
	case ok:
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

// Count returns how many questions of this process are open.
func (b *Book) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(time.Now())
	n := 0
	for _, p := range b.local {
		if !p.closed {
			n++
		}
	}
	return n
}

// Close forgets a question for whose answer nobody waits any longer in this process, with the answer that was held for it.
func (b *Book) Close(p *Pending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.local[p.ID] == p {
		b.drop(p)
	}
}

// Answer closes a question. Only Accepted and Granted let the call happen, and only if that could be recorded. The errors
// are ErrNoQuestion if it is not open, which an earlier answer may be the reason of; ErrPrincipal; ErrNoGrant and ErrUnseen, which
// leave it open; and those of the store and the record.
func (b *Book) Answer(ctx context.Context, r Reply) error {
	b.answering.Lock()
	defer b.answering.Unlock()
	p, err := b.Find(ctx, r.ID, r.Principal)
	if err != nil {
		return err
	}
	switch before, err := b.said(ctx, p.ID); {
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
		b.mu.Lock()
		p.closed = true
		b.mu.Unlock()
		return b.End(ctx, p.ending(r))
	}
	said := store.Declined
	if r.Answer.Yes() {
		said = store.Accepted
	}
	_, err = b.opts.Store.Answer(ctx, p.ID, r.Principal, said)
	b.mu.Lock()
	p.closed = true
	b.mu.Unlock()
	if err != nil {
		return errors.Join(mapped(err), b.write(ctx, p, "void", Reply{Via: "another answer came first"}))
	}
	if r.Answer == Granted {
		return b.grant(ctx, p)
	}
	return nil
}

// confirmed reports whether an answer may be a yes: the prompt shows everything, or the code comes from the end of the listing.
func (p *Pending) confirmed(code string) bool {
	return p.Prompt.Unseen == "" || p.Code != "" && strings.EqualFold(strings.TrimSpace(code), p.Code)
}

// Await returns what a person has said to the question, in whichever process, once it was answered: Accepted or Declined.
// The error is ErrNoQuestion if the question has expired, or that of the context or the store.
func (b *Book) Await(ctx context.Context, id string) (Answer, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		answered := b.answered() // before the look: no answer falls between
		said, err := b.said(ctx, id)
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

// said returns the answer that counts; "" if the question is open.
func (b *Book) said(ctx context.Context, id string) (Answer, error) {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{ID: id}) {
		switch {
		case err != nil:
			return "", fmt.Errorf("reading a question: %w", err)
		case q.Answer == store.Open:
			return "", nil
		case q.Answer == store.Declined:
			return Declined, nil
		}
		return Accepted, nil
	}
	return "", ErrNoQuestion
}

// Waits reports whether the question with this id is still open.
func (b *Book) Waits(ctx context.Context, id string) (bool, error) {
	said, err := b.said(ctx, id)
	if errors.Is(err, ErrNoQuestion) {
		return false, nil
	}
	return err == nil && said == "", err
}

// Stands reports whether a question was answered with yes, and is not too old. An acceptance that was used up does.
func (b *Book) Stands(ctx context.Context, id string) bool {
	said, err := b.said(ctx, id)
	return err == nil && said == Accepted
}
