package label

import (
	"encoding/json"
	"fmt"
)

// Readers is who may read some data. The zero Readers is everyone. Fewer readers is higher in the lattice.
type Readers struct {
	limited bool
	who     Set[string]
}

// OnlyReaders limits the readers to the given principals; none at all means nobody.
func OnlyReaders(who ...string) Readers { return Readers{limited: true, who: SetOf(who...)} }

// Limited returns the principals that may read, and false if everyone may.
func (r Readers) Limited() (who Set[string], limited bool) { return r.who, r.limited }

// Allows reports whether the principal may read.
func (r Readers) Allows(principal string) bool { return !r.limited || r.who.Has(principal) }

// Join returns the readers that both allow.
func (r Readers) Join(s Readers) Readers {
	switch {
	case !r.limited:
		return s
	case !s.limited:
		return r
	}
	return Readers{limited: true, who: r.who.Intersect(s.who)}
}

// Covers reports whether joining s into r would change nothing.
func (r Readers) Covers(s Readers) bool { return !s.limited || (r.limited && s.who.Contains(r.who)) }

// IsZero reports whether everyone may read.
func (r Readers) IsZero() bool { return !r.limited }

// MarshalJSON encodes everyone as null and any set of principals as a sorted array.
func (r Readers) MarshalJSON() ([]byte, error) {
	if !r.limited {
		return []byte("null"), nil
	}
	return r.who.MarshalJSON()
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (r *Readers) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*r = Readers{}
		return nil
	}
	var who []string
	if err := json.Unmarshal(data, &who); err != nil {
		return fmt.Errorf("reading readers: %w", err)
	}
	*r = OnlyReaders(who...)
	return nil
}
