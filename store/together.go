package store

import (
	"context"
	"sync/atomic"
)

// Together returns a context for the reads of one decision. They belong together, so a store may answer each as of a
// moment since the call of Together, and need not look for commits of other processes before each. It is for nothing
// that waits for a person or a server. A context that has it already is returned as it is.
func Together(ctx context.Context) context.Context {
	if MomentOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, momentKey{}, new(Moment))
}

// Afresh returns a context for a read as of its own time, also within a decision.
func Afresh(ctx context.Context) context.Context {
	if MomentOf(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, momentKey{}, (*Moment)(nil))
}

// A Moment is where a store keeps the state of its data that the reads of one decision have seen. Its value is the
// store's own.
type Moment struct{ atomic.Value }

type momentKey struct{}

// MomentOf returns the moment of the reads with this context; nil if each is to be as of its own time.
func MomentOf(ctx context.Context) *Moment {
	m, _ := ctx.Value(momentKey{}).(*Moment)
	return m
}
