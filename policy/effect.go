package policy

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/spelling"
)

// An Effect is the answer of a rule, and in the end of a policy, about a call or a result. Effects are ordered by
// strictness, the strictest first, so the stricter of two is their minimum. The zero Effect is Block.
type Effect uint8

// The effects, from the strictest to the mildest.
const (
	Block Effect = iota // it does not happen
	Ask                 // it happens if a person agrees
	Hide                // of a result: the agent gets a handle in its place
	Warn                // it happens, and people are told
	Allow               // it happens
)

var effectNames = [...]string{"block", "ask", "hide", "warn", "allow"}

// String returns the name that [ParseEffect] reads.
func (e Effect) String() string { return nameOf(effectNames[:], uint8(e)) }

// ParseEffect reads "block", "ask", "hide", "warn" or "allow".
func ParseEffect(s string) (Effect, error) { return parseName[Effect]("effect", effectNames[:], s) }

// MarshalText encodes the effect as [Effect.String] does.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText decodes the text of MarshalText.
func (e *Effect) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEffect(string(text))
	return err
}

// A Mode says how far an effect is carried out. The zero Mode is Enforce.
type Mode uint8

// The modes.
const (
	Enforce  Mode = iota // effects are carried out
	WarnOnly             // block, ask and hide become warn
	Audit                // nothing is held up and nobody is told; the effect in mode enforce is recorded
)

var modeNames = [...]string{"enforce", "warn", "audit"}

// String returns the name that [ParseMode] reads.
func (m Mode) String() string { return nameOf(modeNames[:], uint8(m)) }

// ParseMode reads "enforce", "warn" or "audit".
func ParseMode(s string) (Mode, error) { return parseName[Mode]("mode", modeNames[:], s) }

// MarshalText encodes the mode as [Mode.String] does.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText decodes the text of MarshalText.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// Apply returns the effect that is carried out in this mode when the policy says e. A mode that is none of the three
// enforces.
func (m Mode) Apply(e Effect) Effect {
	switch m {
	case WarnOnly:
		return max(e, Warn)
	case Audit:
		return Allow
	}
	return e
}

// A Phase is the moment of a decision. The zero Phase is OnCall.
type Phase uint8

// The phases.
const (
	OnCall   Phase = iota // before the call goes to the server
	OnResult              // before its result goes to the host
)

var phaseNames = [...]string{"call", "result"}

// String returns the name that [ParsePhase] reads.
func (p Phase) String() string { return nameOf(phaseNames[:], uint8(p)) }

// ParsePhase reads "call" or "result".
func ParsePhase(s string) (Phase, error) { return parseName[Phase]("phase", phaseNames[:], s) }

// MarshalText encodes the phase as [Phase.String] does.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText decodes the text of MarshalText.
func (p *Phase) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePhase(string(text))
	return err
}

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func parseName[T ~uint8](kind string, names []string, s string) (T, error) {
	for i, name := range names {
		if s == name {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: use %s", kind, s, spelling.OrList(names))
}
