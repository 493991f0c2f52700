package contract

import (
	"fmt"

	"github.com/weir-mcp/weir/label"
)

// A Hint is a boolean claim that may be absent. The zero Hint is Unknown.
type Hint uint8

// The values of a Hint.
const (
	Unknown Hint = iota
	No
	Yes
)

// HintOf returns Yes or No.
func HintOf(b bool) Hint {
	if b {
		return Yes
	}
	return No
}

// String returns "unknown", "no" or "yes".
func (h Hint) String() string { return [...]string{"unknown", "no", "yes"}[min(h, Yes)] }

// widen joins two claims of which risky is the dangerous one: either dangerous stays dangerous, and a safe claim beside
// an unknown one is unknown.
func (h Hint) widen(o, risky Hint) Hint {
	switch {
	case h == risky || o == risky:
		return risky
	case h == Unknown || o == Unknown:
		return Unknown
	}
	return h
}

// or returns h, or d if h is unknown.
func (h Hint) or(d Hint) Hint {
	if h == Unknown {
		return d
	}
	return h
}

// unless returns h, or Unknown if h is the given claim.
func (h Hint) unless(claim Hint) Hint {
	if h == claim {
		return Unknown
	}
	return h
}

// Values is a set of possible values, or unknown. The zero Values is unknown.
type Values[T ~string] struct {
	set   label.Set[T]
	known bool
}

// Possible returns the known set of the given values.
func Possible[T ~string](values ...T) Values[T] {
	return Values[T]{label.SetOf(values...), true}
}

// Known returns the set of possible values, and false if it is unknown.
func (v Values[T]) Known() (label.Set[T], bool) { return v.set, v.known }

// Set returns the possible values; the empty set if they are unknown.
func (v Values[T]) Set() label.Set[T] { return v.set }

// Has reports whether x is known to be possible.
func (v Values[T]) Has(x T) bool { return v.set.Has(x) }

// Equal reports whether both say the same.
func (v Values[T]) Equal(o Values[T]) bool { return v.known == o.known && v.set.Equal(o.set) }

// Within reports whether v promises at least as much as o: v is known and inside o, or o is unknown.
func (v Values[T]) Within(o Values[T]) bool { return !o.known || (v.known && o.set.Contains(v.set)) }

func (v Values[T]) widen(o Values[T]) Values[T] {
	if !v.known || !o.known {
		return Values[T]{}
	}
	return Values[T]{v.set.Union(o.set), true}
}

func (v Values[T]) or(d Values[T]) Values[T] {
	if v.known {
		return v
	}
	return d
}

// with adds to known values.
func (v Values[T]) with(more ...T) Values[T] {
	if v.known {
		v.set = v.set.Union(label.SetOf(more...))
	}
	return v
}

func (v Values[T]) beyond(o Values[T]) Values[T] {
	if v.Equal(o) {
		return Values[T]{}
	}
	return v
}

// raise returns v with the values of more. Where v is unknown and more names values, these are better than nothing: the
// label of a result is made of known members.
func (v Values[T]) raise(more Values[T]) Values[T] {
	if !v.known && more.set.Len() > 0 {
		return more
	}
	return v.with(more.set.Slice()...)
}

// String returns the possible values separated by commas, or "unknown".
func (v Values[T]) String() string {
	if !v.known {
		return "unknown"
	}
	return v.set.String()
}

// quoted returns the text of String with each value quoted: a server chooses the scopes of regulated data, and a comma
// in one must not make two contracts look alike.
func (v Values[T]) quoted() string {
	if !v.known {
		return "unknown"
	}
	return fmt.Sprintf("%q", v.set.Slice())
}
