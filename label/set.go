package label

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// A Set is an immutable set of strings, kept sorted. The zero Set is empty and ready to use. Sets may be
// shared between goroutines: no method changes one.
type Set[T ~string] struct{ items []T }

// SetOf returns the set of the given items.
func SetOf[T ~string](items ...T) Set[T] {
	if len(items) == 0 {
		return Set[T]{}
	}
	s := slices.Clone(items)
	slices.Sort(s)
	return Set[T]{slices.Compact(s)}
}

// Len returns the number of items.
func (s Set[T]) Len() int { return len(s.items) }

// Has reports whether x is in the set.
func (s Set[T]) Has(x T) bool {
	_, ok := slices.BinarySearch(s.items, x)
	return ok
}

// All iterates over the items in ascending order.
func (s Set[T]) All() iter.Seq[T] { return slices.Values(s.items) }

// Slice returns a copy of the items in ascending order.
func (s Set[T]) Slice() []T { return slices.Clone(s.items) }

// Equal reports whether both sets hold the same items.
func (s Set[T]) Equal(t Set[T]) bool { return slices.Equal(s.items, t.items) }

// Contains reports whether every item of t is in s.
func (s Set[T]) Contains(t Set[T]) bool {
	if len(t.items) > len(s.items) {
		return false
	}
	if len(t.items) == 0 || &s.items[0] == &t.items[0] { // shared, as after a join that added nothing
		return true
	}
	rest := s.items
	for _, x := range t.items {
		n, ok := 0, len(rest) > 0 && rest[0] == x // nearly equal sets cost one comparison an item
		if !ok {
			n, ok = slices.BinarySearch(rest, x)
		}
		if !ok {
			return false
		}
		rest = rest[n+1:]
	}
	return true
}

// Union returns the items that are in either set. It returns s itself, without allocating, when t adds nothing.
func (s Set[T]) Union(t Set[T]) Set[T] {
	switch {
	case s.Contains(t):
		return s
	case t.Contains(s):
		return t
	}
	out := make([]T, 0, len(s.items)+len(t.items))
	a, b := s.items, t.items
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0], b[0]) {
		case -1:
			out, a = append(out, a[0]), a[1:]
		case 1:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	out = append(out, a...)
	return Set[T]{append(out, b...)}
}

// Intersect returns the items that are in both sets.
func (s Set[T]) Intersect(t Set[T]) Set[T] {
	if t.Contains(s) {
		return s
	}
	var out []T
	for _, x := range s.items {
		if t.Has(x) {
			out = append(out, x)
		}
	}
	return Set[T]{out}
}

// Without returns the items of s that are not in t.
func (s Set[T]) Without(t Set[T]) Set[T] {
	var out []T
	for _, x := range s.items {
		if !t.Has(x) {
			out = append(out, x)
		}
	}
	return Set[T]{out}
}

// IsZero reports whether the set is empty; encoding/json's omitzero uses it.
func (s Set[T]) IsZero() bool { return len(s.items) == 0 }

// String returns the items separated by commas, for messages.
func (s Set[T]) String() string {
	parts := make([]string, len(s.items))
	for i, x := range s.items {
		parts[i] = string(x)
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON encodes the set as a sorted array of strings.
func (s Set[T]) MarshalJSON() ([]byte, error) {
	if s.items == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(s.items)
}

// UnmarshalJSON decodes an array of strings in any order.
func (s *Set[T]) UnmarshalJSON(data []byte) error {
	var items []T
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	*s = SetOf(items...)
	return nil
}
