package store

import (
	"context"
	"sync/atomic"
)

// Together returns a context for the reads of one decision. They belong together, so a store may answer each as of a
// moment since the call of Together, and need not look for commits of other processes before each. It is for nothing
// that waits for a person or a server. A context that has it already is returned as it is.
func Together(ctx context.Context) context.Context {
	if m, afresh := MomentOf(ctx); m != nil && !afresh {
		return ctx
	}
	return context.WithValue(ctx, momentKey{}, reading{moment: new(Moment)})
}

// Afresh returns a context for a read as of its own time, also within a decision: it sees all that others have
// committed by then. That the data is in its place may be as of the moment of the decision.
func Afresh(ctx context.Context) context.Context {
	m, afresh := MomentOf(ctx)
	if m == nil || afresh {
		return ctx
	}
	return context.WithValue(ctx, momentKey{}, reading{moment: m, afresh: true})
}

// A Moment is where a store keeps the state of its data that the reads of one decision have seen. Its value is the
// store's own.
type Moment struct{ atomic.Value }

type momentKey struct{}

type reading struct {
	moment *Moment
	afresh bool
}

// MomentOf returns the moment of the decision to which the reads with this context belong, nil if they belong to none,
// and whether each is to be as of its own time nevertheless.
func MomentOf(ctx context.Context) (m *Moment, afresh bool) {
	r, _ := ctx.Value(momentKey{}).(reading)
	return r.moment, r.afresh
}
