package approve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// What a person said that stands for longer than one call is kept beside the questions, under bindings of its own.
const (
	grantPrefix = "grant:"
	endPrefix   = "end:"

	grantLife = 12 * time.Hour
	endLife   = 30 * 24 * time.Hour
)

func isStanding(binding string) bool {
	return strings.HasPrefix(binding, grantPrefix) || strings.HasPrefix(binding, endPrefix)
}

// grant keeps that calls like the one in question may happen.
func (b *Book) grant(ctx context.Context, p *Pending) error {
	return b.keep(ctx, store.Question{Principal: p.Principal, Session: p.Session, Binding: grantPrefix + p.Grant}, grantLife)
}

// stop keeps that an agent session may do nothing more.
func (b *Book) stop(ctx context.Context, key, principal string) error {
	binding := endBinding(key, principal)
	err := b.keep(ctx, store.Question{Principal: principal, Session: key, Binding: binding}, endLife)
	b.mu.Lock()
	delete(b.going, binding)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.refuseAll(ctx, key, principal)
}

// refuseAll closes the open questions of an agent session that has ended.
func (b *Book) refuseAll(ctx context.Context, key, principal string) error {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Principal: principal, Open: true}) {
		if err != nil {
			return fmt.Errorf("reading questions: %w", err)
		}
		if q.Session != key {
			continue
		}
		_, err = b.opts.Store.Answer(ctx, q.ID, principal, store.Declined)
		if err != nil && !errors.Is(err, store.ErrNoQuestion) {
			return mapped(err)
		}
	}
	return nil
}

func endBinding(key, principal string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(principal), principal, key)))
	return endPrefix + hex.EncodeToString(sum[:])
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

// End has an agent session do nothing more, and those that descend from it, until what a person said is forgotten after 30
// days. It is recorded first.
func (b *Book) End(ctx context.Context, ref session.Ref, via string) error {
	if ref.Key == "" || ref.Principal == "" {
		return errors.New("ending a session: which one?")
	}
	e := record.New(record.Approval, time.Now())
	e.Session, e.Principal, e.Effect, e.Message = ref.Key, ref.Principal, string(Ended), via
	if err := b.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the end of a session: %w", err)
	}
	return b.stop(ctx, ref.Key, ref.Principal)
}

// HasEnded reports whether a person has ended the agent session, or the one that it descends from. What another process was
// told counts here within half a second.
func (b *Book) HasEnded(ctx context.Context, ref session.Ref) (bool, error) {
	for _, key := range []string{ref.Key, ref.Parent} {
		if key == "" {
			continue
		}
		if ended, err := b.hasEnded(ctx, endBinding(key, ref.Principal)); err != nil || ended {
			return ended, err
		}
	}
	return false, nil
}

const (
	endedFresh = 500 * time.Millisecond // how long it counts that a session has not ended
	maxGoing   = 4096                   // sessions of which that is remembered
)

func (b *Book) hasEnded(ctx context.Context, binding string) (bool, error) {
	now := time.Now()
	b.mu.Lock()
	looked, ok := b.going[binding]
	b.mu.Unlock()
	if ok && now.Sub(looked) < endedFresh {
		return false, nil
	}
	ended, err := b.stands(ctx, binding)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.going, binding)
	if err == nil && !ended {
		if len(b.going) >= maxGoing {
			clear(b.going)
		}
		b.going[binding] = now
	}
	return ended, err
}
