package ledger

import (
	"context"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A state is the sessions of a ledger's database, with its record: a label and its event are one transaction.
type state struct {
	*Ledger
	sessions *session.Sessions
}

// Sessions implements [guard.State].
func (s *state) Sessions() *session.Sessions { return s.sessions }

// Open implements [guard.State].
func (s *state) Open(
	ctx context.Context, ref session.Ref, event func(session.Rise) *record.Event,
) (session.State, error) {
	opened, _, err := s.sessions.OpenBy(ctx, ref,
		func(ctx context.Context, ref session.Ref, lim store.Limits) (session.State, []session.Rise, error) {
			var events []*record.Event
			state, rises, err := s.opts.DB.OpenNoted(ctx, ref, lim, func(r store.Rise) (audit.Entry, error) {
				e := event(r)
				events = append(events, e)
				return s.encode(e)
			})
			if err != nil {
				return session.State{}, nil, err
			}
			if len(events) > 0 {
				s.touch()
			}
			// Of a transaction that was tried again, only the last attempt happened.
			return state, rises, s.also(ctx, events[len(events)-len(rises):]...)
		})
	if err != nil {
		return session.State{}, err
	}
	return opened, nil
}

// Decide implements [guard.State].
func (s *state) Decide(ctx context.Context, on session.State, counts bool, e *record.Event) (calls int64, err error) {
	entry, err := s.encode(e)
	if err != nil {
		return 0, err
	}
	if calls, err = s.opts.DB.Decided(ctx, on, counts, entry); err != nil {
		return 0, err
	}
	s.touch()
	return calls, s.also(ctx, e)
}

// Raise implements [guard.State].
func (s *state) Raise(ctx context.Context, key string, l label.Label, e *record.Event) (session.Change, error) {
	return s.sessions.RaiseBy(ctx, key, l,
		func(ctx context.Context, key string, added label.Label, lim store.Limits) (session.State, []session.Rise, error) {
			entry, err := s.entry(ctx, e)
			if err != nil {
				return session.State{}, nil, err
			}
			state, rises, err := s.opts.DB.JoinNoted(ctx, key, added, lim, entry)
			s.touch()
			return state, rises, err
		})
}
