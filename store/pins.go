package store

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// MaxPinBody is the greatest length of a pin's body in bytes.
const MaxPinBody = 4 << 20

// A Pin is the accepted form of a definition, such as a tool's definition at first use.
type Pin struct {
	Scope  string // such as a server
	Name   string // in its scope
	Digest string
	Body   []byte // opaque
	By     string // who accepted it; "" if nobody was asked
	Pinned time.Time
}

// Pins keep pins. A scope and a name have one pin at most.
type Pins interface {
	// Pin keeps the pin unless there is one of its scope and name, and returns the one that is kept.
	Pin(ctx context.Context, p Pin) (Pin, error)

	// Repin keeps the pin in the place of the one that is there.
	Repin(ctx context.Context, p Pin) error

	// Unpin removes the pins of the scope, or if name is not "" that one, and returns how many there were.
	Unpin(ctx context.Context, scope, name string) (int64, error)

	// Pinned iterates over the pins of the scope, or over all if it is "", by scope and name. An error ends the
	// iteration. The loop's body may use the store.
	Pinned(ctx context.Context, scope string) iter.Seq2[Pin, error]
}

// Check returns an error that is [ErrInvalid] if the pin is not one that a store accepts.
func (p *Pin) Check() error {
	for _, f := range []text{{"scope", p.Scope, true}, {"name", p.Name, true}, {"digest", p.Digest, true}, {"by", p.By, false}} {
		if err := f.check(); err != nil {
			return fmt.Errorf("pin: %w", err)
		}
	}
	if len(p.Body) > MaxPinBody {
		return fmt.Errorf("pin: %w: its body is longer than %d bytes", ErrInvalid, MaxPinBody)
	}
	return nil
}
