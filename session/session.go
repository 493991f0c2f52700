// Package session is the label state of each agent session.
//
// An agent session is one run of one agent: data that entered it may influence everything that it does later. Its label
// is the join of the labels of all data that entered. [Sessions] opens sessions, reads their labels, and raises them:
//
//	sessions := session.New(session.Options{})
//	state, _, err := sessions.Open(ctx, session.Ref{Key: "c-1", Principal: "alice"})
//	change, err := sessions.Raise(ctx, "c-1", label.Label{Untrusted: true})
//
// The key says which session a call belongs to; the caller derives it from the connection. A key is bound to the
// principal that opened it first. A session may name a parent: it starts with the parent's label, and data that enters
// it enters the parent and all further ancestors.
//
// The package promises:
//
//   - Labels only rise. No method lowers one.
//   - Labels are normal (see [label.Label.Normal]) and bounded (see [store.Limits]), so that the cost of a call does
//     not grow with the number of calls before it.
//   - When Raise has returned, the label is in the store, and every later Open, Snapshot and Raise sees it, in every
//     process that shares the store.
//   - A label that the session already covers costs one read and no write.
//
// The package holds no state of its own and no locks: it is as durable, and as concurrent, as its [store.Store].
package session

import (
	"context"
	"errors"
	"iter"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// Package store declares and documents the types of a session.
type (
	Ref   = store.Ref
	State = store.Session
	Rise  = store.Rise
)

// Together returns a context for the reads of one decision; see [store.Together].
func Together(ctx context.Context) context.Context { return store.Together(ctx) }

// Afresh returns a context for a read that is to see what others have done during the decision; see [store.Afresh].
func Afresh(ctx context.Context) context.Context { return store.Afresh(ctx) }

// The kinds of errors about a session that was decided on, see [Sessions.Still].
var (
	ErrChanged  = store.ErrChanged
	ErrNotFound = store.ErrNotFound
)

// More stands in an attribution or among findings for those that the limits left out.
const More = store.More

// Options are the options of [New].
type Options struct {
	Store          store.Store // default: a new store in memory
	MaxAttribution int         // URIs in a session's attribution, default 1024; more become the one URI More
	MaxFindings    int         // findings in a session's label, default 256; more become the one finding More
	MaxClasses     int         // regulated scopes in a session's sensitivity, default 64; more become label.Regulated
}

// Sessions is the label state of all agent sessions of a store. It may be used concurrently.
type Sessions struct {
	store  store.Store
	limits store.Limits
}

// New returns the sessions of the options' store.
func New(opts Options) *Sessions {
	if opts.Store == nil {
		opts.Store = store.NewMemory(nil)
	}
	return &Sessions{opts.Store, store.Limits{
		Attribution: opts.MaxAttribution,
		Findings:    opts.MaxFindings,
		Classes:     opts.MaxClasses,
	}}
}

// Open returns the state of the session that ref names, creating it if need be, and the labels that rose with it:
// that of a session which got a parent just now, and of its ancestors. Mostly nothing rises.
//
// Errors are [store.ErrInvalid], [store.ErrPrincipal] if the session or its parent belongs to another principal,
// [store.ErrParent] if it cannot have that parent, [store.ErrFull], or an error of the store itself.
func (s *Sessions) Open(ctx context.Context, ref Ref) (State, []Rise, error) {
	return s.OpenBy(ctx, ref, s.store.Open)
}

// An Opener opens a session as [store.Store] does, and may record the raised labels in the same transaction.
type Opener func(ctx context.Context, ref Ref, lim store.Limits) (State, []Rise, error)

// OpenBy opens as Open does, by an opener of the store's own.
func (s *Sessions) OpenBy(ctx context.Context, ref Ref, open Opener) (State, []Rise, error) {
	return open(ctx, ref, s.limits)
}

// Peek returns the state that Open would return, and changes nothing. Errors are [store.ErrInvalid],
// [store.ErrPrincipal], or an error of the store itself.
func (s *Sessions) Peek(ctx context.Context, ref Ref) (State, error) {
	if err := ref.Check(); err != nil {
		return State{}, err
	}
	state, err := s.store.Get(ctx, ref.Key)
	if errors.Is(err, store.ErrNotFound) {
		state, err = State{Key: ref.Key, Principal: ref.Principal}, nil
	}
	switch {
	case err != nil:
		return State{}, err
	case state.Principal != ref.Principal:
		return State{}, store.ErrPrincipal
	case ref.Parent == "" || state.Parent == ref.Parent:
		return state, nil
	}
	parent, err := s.Peek(ctx, Ref{Key: ref.Parent, Principal: ref.Principal})
	if err != nil {
		return State{}, err
	}
	state.Parent, state.Label = ref.Parent, s.limits.Join(state.Label, parent.Label)
	return state, nil
}

// Snapshot returns the state of a session. The error is [store.ErrNotFound] if it was never opened.
func (s *Sessions) Snapshot(ctx context.Context, key string) (State, error) {
	return s.store.Get(ctx, key)
}

// Still looks at a session that was decided on, as it is now. The error is [ErrChanged] if its label or its parent is
// another, and [ErrNotFound] if it was removed.
func (s *Sessions) Still(ctx context.Context, on State) error {
	now, err := s.store.Get(store.Afresh(ctx), on.Key)
	if err != nil {
		return err
	}
	return on.Still(now)
}

// A Change is the effect of [Sessions.Raise].
type Change struct {
	Before, After label.Label // of the session; equal if it did not rise
	Raised        bool        // whether After is higher than Before
	Ancestors     []Rise      // the ancestors whose labels rose, nearest first
}

// Raise joins the label into the session and all its ancestors. The error is [store.ErrNotFound] if the session was
// never opened, or an error of the store itself; then the caller must not hand on the data that the label speaks of.
func (s *Sessions) Raise(ctx context.Context, key string, l label.Label) (Change, error) {
	return s.RaiseBy(ctx, key, l, s.store.Join)
}

// A Joiner joins a label into a session as [store.Store] does, and may write down that it did, in the same transaction.
type Joiner func(ctx context.Context, key string, l label.Label, lim store.Limits) (State, []Rise, error)

// RaiseBy raises as Raise does, by a joiner of the store's own. It does not call the joiner if the session covers the
// label.
func (s *Sessions) RaiseBy(ctx context.Context, key string, l label.Label, join Joiner) (Change, error) {
	l = l.Normal()
	state, err := s.store.Get(ctx, key)
	if err != nil {
		return Change{}, err
	}
	// An ancestor covers its descendants, so a label that the session covers need not be joined into any of them.
	if state.Label.Covers(s.limits.Join(state.Label, l)) {
		return Change{Before: state.Label, After: state.Label}, nil
	}
	state, rises, err := join(ctx, key, l, s.limits)
	if err != nil {
		return Change{}, err
	}
	if len(rises) == 0 || rises[0].Key != key { // another call raised the session between our read and our write
		return Change{Before: state.Label, After: state.Label, Ancestors: rises}, nil
	}
	return Change{Before: rises[0].Before, After: rises[0].After, Raised: true, Ancestors: rises[1:]}, nil
}

// Count counts one call of the session and returns the number of its calls so far, this one included. The error is
// [store.ErrNotFound] if the session was never opened.
func (s *Sessions) Count(ctx context.Context, key string) (int64, error) {
	return s.store.Count(ctx, key)
}

// A tallier is a store that can count calls a little later.
type tallier interface {
	Tally(ctx context.Context, key string) error
}

// Tally counts one call of the session: soon, if the store can do that, else at once.
func (s *Sessions) Tally(ctx context.Context, key string) error {
	if t, ok := s.store.(tallier); ok {
		return t.Tally(ctx, key)
	}
	_, err := s.store.Count(ctx, key)
	return err
}

// List iterates over the principal's sessions, or over all if principal is "", newest first. An error ends the
// iteration.
func (s *Sessions) List(ctx context.Context, principal string) iter.Seq2[State, error] {
	return s.store.List(ctx, principal)
}
