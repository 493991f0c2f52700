// Package store keeps agent sessions: their principals, their ancestors, and the labels of the data that entered them.
//
// A [Store] is a small transactional interface. [NewMemory] is its reference, package sqlstore keeps it in a database;
// package storetest is the acceptance test that every back end has to pass.
//
//	st := store.NewMemory(nil)
//	s, _, err := st.Open(ctx, store.Ref{Key: "c-1", Principal: "alice"}, store.Limits{})
//	s, rises, err := st.Join(ctx, "c-1", label.Label{Untrusted: true}, store.Limits{})
//
// A Store promises:
//
//   - Every operation is atomic, and an error means that it had no effect.
//   - Labels only rise, Calls only grow, Seen never goes back. No operation of a Store lowers anything or removes a
//     session; only a [Custodian] does.
//   - Once an operation that changed something has returned, every read that starts later, in any process, sees it.
//   - The principal is bound at creation. A parent belongs to the same principal, is bound once, and the chain of
//     ancestors has no cycle and at most [MaxDepth] members.
//   - A label joined into a session is joined into all its ancestors in the same transaction, and a session that gets a
//     parent takes over its label and gives its own. So an ancestor always covers its descendants.
//   - Labels stay bounded, so that the cost of an operation does not grow with a session's age: see [Limits].
//   - An operation whose context is done when it starts returns the context's error.
//
// Weir's other state has interfaces of its own, with promises of the same kind: [Approvals], [Pins], [Taints],
// [Values]. A [Backend] is all of them; [Draft] helps to write one.
//
// Times are UTC, in microseconds. All methods may be used concurrently.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/label"
)

// The kinds of errors that a Store returns, wrapped with the session's key.
var (
	ErrNotFound  = errors.New("no such session")
	ErrPrincipal = errors.New("session belongs to another principal")
	ErrParent    = errors.New("session cannot have this parent") // it has another, a cycle, or a chain over MaxDepth
	ErrInvalid   = errors.New("invalid reference")
	ErrFull      = errors.New("too many sessions")
	ErrChanged   = errors.New("the session is not as it was decided on") // see Session.Still

	// ErrState is the kind of error of state that another program changed or removed. No decision may use it.
	ErrState = errors.New("the state is not what the log proves")
)

// ErrUnavailable is the kind of error of a store whose back end fails at the moment. It has told its operator already.
var ErrUnavailable = errors.New("unavailable")

const (
	// MaxKey is the greatest length of a key or principal in bytes.
	MaxKey = 1024
	// MaxDepth is the greatest number of ancestors of a session.
	MaxDepth = 64
)

// A Session is the state of one agent session, as it was when it was read.
type Session struct {
	Key       string
	Parent    string // key of the session that this one descends from; "" if none
	Principal string
	Label     label.Label // the join of the labels of all data that entered the session or a descendant
	Calls     int64       // calls counted in the session itself, without its descendants
	Created   time.Time
	Seen      time.Time // when the session was created, counted a call or had its label joined to a higher one, at the latest, to SeenWithin
}

// SeenWithin is how exact [Session].Seen is: a session that counts call after call is written whole once in that time.
const SeenWithin = time.Second

// Still returns ErrChanged unless the session, now, has the label and the parent that it had as s, by which a call was
// decided. The error is ErrNotFound if now is another session of the same key.
func (s Session) Still(now Session) error {
	switch {
	case s.Key != now.Key || s.Principal != now.Principal || !s.Created.Equal(now.Created):
		return fmt.Errorf("session %q: %w", s.Key, ErrNotFound)
	case s.Parent != now.Parent || !s.Label.Equal(now.Label):
		return fmt.Errorf("session %q: %w", s.Key, ErrChanged)
	}
	return nil
}

// A Ref names a session to open. Key and Principal are required; each string is UTF-8 without NUL, of at most [MaxKey]
// bytes.
type Ref struct {
	Key       string
	Parent    string // "" if the session has none, or if it is not known here
	Principal string
}

// Check returns an error that is [ErrInvalid] if the reference is not one that a Store accepts. Back ends call it
// first.
func (r Ref) Check() error {
	for _, f := range []text{{"key", r.Key, true}, {"parent", r.Parent, false}, {"principal", r.Principal, true}} {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// A text is a member that a Store can keep: UTF-8 without NUL, not too long.
type text struct {
	name, value string
	required    bool
}

func (t text) check() error {
	switch {
	case t.value == "" && t.required:
		return fmt.Errorf("%w: %s is empty", ErrInvalid, t.name)
	case len(t.value) > MaxKey:
		return fmt.Errorf("%w: %s is longer than %d bytes", ErrInvalid, t.name, MaxKey)
	case !utf8.ValidString(t.value) || strings.ContainsRune(t.value, 0):
		return fmt.Errorf("%w: %s is not text", ErrInvalid, t.name)
	}
	return nil
}

// A Rise is the change of one session's label: After covers Before and differs from it.
type Rise struct {
	Key           string
	Before, After label.Label
}

// A Store keeps agent sessions. The package comment says what it promises.
//
// Open and Join return the session after the operation and the sessions whose labels were raised: the session itself
// first, then its ancestors, nearest first. A new session that takes over its parent's label is raised too.
type Store interface {
	// Open returns the session, creating it if it does not exist. A new session starts with its parent's label; a
	// parent that does not exist is created too, so that a descendant may come first. If the session exists without a
	// parent and the reference names one, the two are linked, and each label is joined into the other session and its
	// ancestors. Opening an existing session otherwise writes nothing.
	//
	// Errors are ErrInvalid; ErrPrincipal if the session or its parent belongs to another principal; ErrParent;
	// ErrFull.
	Open(ctx context.Context, ref Ref, lim Limits) (Session, []Rise, error)

	// Join joins the label into the session and all its ancestors. The error is ErrNotFound if there is no such
	// session.
	Join(ctx context.Context, key string, l label.Label, lim Limits) (Session, []Rise, error)

	// Count adds one to the calls of the session and returns their number. The error is ErrNotFound if there is none.
	Count(ctx context.Context, key string) (int64, error)

	// Get returns the session. The error is ErrNotFound if there is none.
	Get(ctx context.Context, key string) (Session, error)

	// List iterates over the principal's sessions, or over all if principal is "", newest first, then by key.
	// Each session is yielded once, those that are created meanwhile perhaps. An error ends the iteration.
	// The loop's body may use the store.
	List(ctx context.Context, principal string) iter.Seq2[Session, error]
}
