package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// ErrVentured says that an agent session learned too much by calls with hidden values that did not go.
var ErrVentured = fmt.Errorf("%w: too many calls with hidden values did not go; weir_reveal shows a value", ErrSpent)

// Ventures are calls with hidden values. Whether one goes depends on these, and the agent sees that: it is counted like
// the end of a probe, in a sum of its own. Most go, and a run of them costs little.
type ventures struct{ runs probes }

// ventureBits returns the bits that the nth call of a run adds to its cost, with those of the way in which the run
// ends: the call is refused, asked about or warned of, or there is an error.
func ventureBits(n int) int {
	if n == 1 {
		return bitsOf(n) + 2
	}
	return bitsOf(n)
}

// begin counts the bits of whether a call goes, before anything goes by them. It returns how many went in a row, with
// this one if it does: see went.
func (v *ventures) begin(ctx context.Context, h *Hidden, ref session.Ref) (int, error) {
	opening := Call{ID: rand.Text(), Session: ref, Server: Own, Method: "tools/call"}
	if _, err := h.guard.evidence.open(ctx, &opening); err != nil { // with which the bits are kept
		return 0, err
	}
	key, err := h.family(ctx, ref)
	if err != nil {
		return 0, err
	}
	run := v.runs.take(key) + 1
	if err := h.vault.Venture(ctx, key, ventureBits(run), MaxLooked); errors.Is(err, vault.ErrSpent) {
		return 0, ErrVentured
	} else if err != nil {
		return 0, err
	}
	return run, nil
}

// went says that a call went, with which a run ends. All else of it that its agent gets is hidden.
func (v *ventures) went(ctx context.Context, h *Hidden, ref session.Ref, run int) {
	if key, err := h.family(ctx, ref); err == nil {
		v.runs.give(key, run)
	}
}

// Named returns the hidden value of an agent session that the agent names. That there is one counts as a call that
// goes: older values make room for large ones, so whether they are kept depends on hidden data.
func Named(ctx context.Context, h *Hidden, ref session.Ref, name string) (vault.Value, error) {
	if h.vault == nil {
		return vault.Value{}, vault.ErrUnknown
	}
	run, err := h.ventures.begin(ctx, h, ref)
	if err != nil {
		return vault.Value{}, err
	}
	v, err := h.Value(ctx, ref, name)
	if err == nil {
		h.ventures.went(ctx, h, ref, run)
	}
	return v, err
}

// Revealing is Named for a call that shows the value. Where a session has learned too much by such calls to be told
// that a value is gone, it counts as one that has read the texts of all hidden values before it is told anything: it
// was raised by the rest of their labels when they were hidden.
func Revealing(ctx context.Context, h *Hidden, c *Call, name string) (vault.Value, error) {
	v, err := Named(ctx, h, c.Session, name)
	if !errors.Is(err, ErrVentured) {
		return v, err
	}
	r := h.guard.parse(c)
	state, err := h.guard.evidence.open(ctx, &r.Call)
	if err == nil {
		_, err = h.guard.raise(ctx, r, state.Label, untrusted())
	}
	if err != nil {
		return vault.Value{}, err
	}
	return h.Value(ctx, c.Session, name)
}

// A setup is the operator's configuration of a process, as far as it lowers labels of hidden values or tells of them.
// The processes of a session may have different ones: a value goes by that of the process that hid it.
type setup struct {
	guard  *Guard
	stated string // see [Options.Setup]
}

// by names the setup.
func (s *setup) by() string {
	by := s.guard.rules.Load()
	return fmt.Sprintf("%s %v %s", by.policy.Digest(), by.mode, s.stated)
}

// of names the setup of a value that is made of others: none if another one hid any of these.
func (s *setup) of(from []vault.Value) string {
	by := s.by()
	if slices.ContainsFunc(from, func(v vault.Value) bool { return v.Setup != by }) {
		return ""
	}
	return by
}
