package store

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/label"
)

// MaxValueBody is how long the body of a value may be, in bytes.
const MaxValueBody = 32 << 20

// A Value is something that is kept with an agent session and goes with it: a hidden value, or the count of the bits
// that looks told of those.
type Value struct {
	ID        string // chosen by who keeps it; no other value has it, of no session
	Session   string // the agent session's key
	Principal string // whose session it is
	Label     label.Label
	Note      string    // that each reader may see; opaque
	Body      []byte    // opaque, and best sealed. It is not in lists
	Size      int64     // of the body, in bytes
	Kept      time.Time // when it was kept; the store sets it
}

// A ValueUse is how much is kept with one session.
type ValueUse struct {
	Session, Principal string
	Bytes              int64
	Last               time.Time // when the last value was kept
}

// Values keep values of agent sessions across processes and restarts. The label and the bytes of a value do not change
// unseen: a reader gets them as they were written, or an error.
type Values interface {
	// Values returns the values of a session without their bodies, in no order: all of them, as they were written.
	// There are none of a session that is not there, or is another principal's.
	Values(ctx context.Context, principal, session string) ([]Value, error)

	// Body returns the body of a value that Values has returned. The error is [ErrNotFound] if it is gone.
	Body(ctx context.Context, v Value) ([]byte, error)

	// Revalue has change look at the values of a session, and keeps those that it returns in the place of those with
	// their IDs, without those that are gone, in one transaction. Change may be called more than once, and must not
	// use the store. The error is ErrNotFound if the session is not there, ErrPrincipal if it is another's,
	// ErrInvalid, or that of change.
	Revalue(ctx context.Context, principal, session string, change func([]Value) (ValueChange, error)) error

	// ValueUses returns how much is kept with each session. It is for bounds alone: nothing proves it.
	ValueUses(ctx context.Context) ([]ValueUse, error)
}

// A ValueChange is the change of [Values.Revalue].
type ValueChange struct {
	Put  []Value
	Gone []string // IDs
}

// Check returns an error that is [ErrInvalid] if the change is not one that a store accepts for a session.
func (c *ValueChange) Check(principal, session string) error {
	for i := range c.Put {
		v := &c.Put[i]
		if err := (text{"id", v.ID, true}).check(); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		switch {
		case v.Principal != principal || v.Session != session:
			return fmt.Errorf("value: %w: it is of another session", ErrInvalid)
		case len(v.Body) > MaxValueBody:
			return fmt.Errorf("value: %w: its body is longer than %d bytes", ErrInvalid, MaxValueBody)
		case len(v.Note) > MaxKey*4:
			return fmt.Errorf("value: %w: its note is too long", ErrInvalid)
		}
	}
	return nil
}
