package app

import (
	"context"
	"errors"
	"io"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/vault"
)

// A state holds the store and the records of a serving process.
type state struct {
	state   guard.State
	backend store.Backend // of sessions, questions and all else that is no event
	record  record.Recorder
	vault   *vault.Vault // nil: hidden values are in memory
	db      *sqlstore.DB // nil: there is none
	closers []io.Closer  // in the order in which they were opened
}

// refused returns why no event can be recorded; nil if all is well.
func (s *state) refused() error {
	if l, ok := s.record.(*ledger.Ledger); ok {
		return l.Refused()
	}
	return nil
}

// Close writes deferred events and closes everything that was opened.
func (s *state) Close() error {
	var all error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = errors.Join(all, s.closers[i].Close())
	}
	s.closers = nil
	return all
}

// A pair gives each event to one recorder, and then to another.
type pair [2]record.Recorder

// together returns a recorder for two, either of which may be nil.
func together(first, second record.Recorder) record.Recorder {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return pair{first, second}
}

// Record implements [record.Recorder].
func (p pair) Record(ctx context.Context, e *record.Event) error {
	if err := p[0].Record(ctx, e); err != nil {
		return err
	}
	return p[1].Record(ctx, e)
}
