package sqlstore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/store"
)

// A State is how an open database does.
type State string

// The states of an open database.
const (
	OK      State = "ok"
	Moved   State = "moved"   // its file is not as it was opened
	Stalled State = "stalled" // it does not answer in time
	Failing State = "failing" // it answers with errors, or cannot be reached
	Damaged State = "damaged" // its log does not extend its anchor, so nothing can be written; reading may still work
)

// A Health is how an open database does, and since when. The error is nil if it does well; it may name hosts, users and
// files.
type Health struct {
	State State
	Since time.Time
	Err   error
}

// ErrStalled is the kind of error of a database that has not answered within [Options].Timeout, and of operations that
// are refused at once since then: once a second one of them asks whether it answers again.
var ErrStalled = hosterror.New("the store does not answer: see weir status").Because(store.ErrUnavailable)

// ErrFailing is the kind of all other errors of a database, but not of errors of a request.
var ErrFailing = hosterror.New("the store does not work: see weir status").Because(store.ErrUnavailable)

// probeEvery is how long a database that has stalled is left alone.
const probeEvery = time.Second

// health follows how the operations on a database end. It may be used concurrently.
type health struct {
	told func(Health) // of each change of the state; nil: nobody

	mu     sync.Mutex
	last   Health
	next   time.Time // of a database that has stalled: before it nothing is tried
	damage error     // of the last write, until another succeeds: nothing that was read since says that the log is sound
}

func newHealth(told func(Health)) *health {
	return &health{told: told, last: Health{State: OK, Since: time.Now()}}
}

func (h *health) get() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// admit returns an error that is ErrStalled if the database has stalled and it is not yet time to ask again. Who is
// admitted then is a probe.
func (h *health) admit() (probe bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.State != Stalled {
		return false, nil
	}
	now := time.Now()
	if now.Before(h.next) {
		return false, h.last.Err
	}
	h.next = now.Add(probeEvery)
	return true, nil
}

// kindOf returns the state that an operation leaves which ends with an error, and the error with its kind.
func kindOf(err error) (State, error) {
	switch {
	case err == nil:
		return OK, nil
	case errors.Is(err, store.ErrState): // of one row
		return OK, err
	case errors.Is(err, ErrMoved):
		return Moved, err
	case errors.Is(err, ErrStalled):
		return Stalled, err
	case errors.Is(err, audit.ErrDamaged):
		return Damaged, fmt.Errorf("%w: %w", ErrFailing, err)
	}
	return Failing, fmt.Errorf("%w: %w", ErrFailing, err)
}

// note notes how an operation ended that read, or did not get as far as writing, and returns the error with its kind.
func (h *health) note(err error) error { return h.follow(err, false) }

// wrote notes how a write transaction ended, and returns the error with its kind.
func (h *health) wrote(err error) error { return h.follow(err, true) }

func (h *health) follow(err error, wrote bool) error {
	state, err := kindOf(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	cause := err
	switch {
	case state == Stalled:
		h.next = time.Now().Add(probeEvery)
	case state == Damaged:
		h.damage = err
	case state == OK && wrote:
		h.damage = nil
	case state == OK && h.damage != nil:
		state, cause = Damaged, h.damage
	}
	if state == h.last.State {
		return err
	}
	h.last = Health{State: state, Since: time.Now(), Err: cause}
	if h.told != nil {
		h.told(h.last)
	}
	return err
}

// Refused is how many rows of the state were refused since the database was opened, because the log does not prove
// them.
type Refused struct {
	Rows int       // a row that was restored since is counted too
	Last time.Time // the time of the last refusal
	Err  error     // its reason; it may name agent sessions and resources
}

// refusals count the rows that were refused. They may be used concurrently.
type refusals struct {
	mu   sync.Mutex
	rows map[string]bool
	sum  Refused
}

// add counts the refusal of a row.
func (r *refusals) add(row string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[string]bool{}
	}
	if !r.rows[row] && len(r.rows) < maxProofs {
		r.rows[row] = true
		r.sum.Rows++
	}
	r.sum.Last, r.sum.Err = time.Now(), err
}

func (r *refusals) get() Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum
}
