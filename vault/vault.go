// Package vault keeps the results that an agent was not shown, so that the agent can use them without reading them.
//
//	v := vault.New(vault.Limits{})
//	kept, err := v.Put(vault.Space{Key: "c-1"}, vault.Value{Server: "mail", Result: result, Label: l})
//	fmt.Println(kept.Handle())                                   // [[w48213]]
//	arguments, filling, err := v.Expand(arguments, vault.Space{Key: "c-1"}) // handles are replaced by parts of values
//
// A value belongs to a space: an agent session with those above and below it. Its name is random, so that neither an earlier conversation
// nor text of a stranger names a value by chance. A value never changes, and goes with its space.
//
// A handle in a string of the arguments is [[NAME]], for the text of the value, or [[NAME#POINTER]], for the part of its [Value.Document]
// to which a JSON pointer points. A string that is one handle with a pointer becomes that part, whatever its type. Handles are expanded
// once: text that they stand for is not searched for others.
//
// A [Look] reads a number, a truth value, a date or one of several choices from a value. The vault counts the bits that looks have told.
//
// The package does no I/O, and is safe for concurrent use. It is bounded: values that were kept first go first, and all go with the process.
// The number of bits that looks have told is remembered longer than the values; of spaces beyond the bound, looks count as having told everything.
package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"sync"
)

// Errors of a vault.
var (
	ErrUnknown  = errors.New("no such value is kept in this agent session")
	ErrTooLarge = errors.New("the value is too large to be kept")
)

// Limits of a vault. Zero fields have the values of the comments.
type Limits struct {
	Value  int64 // bytes of one value; 8 MiB
	Space  int64 // bytes of the values of a space; 32 MiB
	Values int   // values of a space; 1024
	Spaces int   // 1024
	Counts int   // of spaces of one owner, of which looks have told something; 16384
	Total  int64 // bytes; 128 MiB
}

func (l Limits) orDefaults() Limits {
	for _, f := range []struct {
		p   *int64
		def int64
	}{{&l.Value, 8 << 20}, {&l.Space, 32 << 20}, {&l.Total, 128 << 20}} {
		if *f.p <= 0 {
			*f.p = f.def
		}
	}
	if l.Values <= 0 {
		l.Values = 1024
	}
	if l.Spaces <= 0 {
		l.Spaces = 1024
	}
	if l.Counts <= 0 {
		l.Counts = 1 << 14
	}
	return l
}

// A Vault keeps values. Make one with [New].
type Vault struct {
	limits Limits

	mu     sync.Mutex
	spaces map[Space]*space
	order  []Space // the one that was used last at the end
	total  int64

	accounts map[Space]*account // which outlive the spaces
	owned    map[string]int     // how many of them an owner has
	tells    bool               // a look has told a number, or an owner has too many accounts
}

// A Space names the values of an agent session, and of those above and below it.
type Space struct{ Owner, Key string }

// A space is the values of an agent session.
type space struct {
	values []Value
	size   int64
	given  big.Int // a bit for each number in a name that was given
	count  int     // of these bits
}

// New returns a vault.
func New(limits Limits) *Vault {
	return &Vault{limits: limits.orDefaults(), spaces: map[Space]*space{}, accounts: map[Space]*account{}, owned: map[string]int{}}
}

// Put keeps a value in a space, and returns it with its name. Values that sessions below returned push out none but
// their like: those of one session at most a sixteenth of the limits of a space, and those of all together half of them.
func (v *Vault) Put(key Space, value Value) (Value, error) {
	if value.size() > v.limits.Value || value.From != "" && value.size() > v.limits.Space/perChild {
		return Value{}, ErrTooLarge
	}
	value.Result, value.Error = bytes.Clone(value.Result), bytes.Clone(value.Error)
	value.Arguments, value.Part = bytes.Clone(value.Arguments), bytes.Clone(value.Part)
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.open(key)
	name, err := s.name()
	if err != nil {
		return Value{}, err
	}
	value.ID, value.Name = rand.Text(), name
	s.values = append(s.values, value)
	s.size, v.total = s.size+value.size(), v.total+value.size()
	if value.From != "" {
		v.hold(s, perChild, func(o *Value) bool { return o.From == value.From })
		v.hold(s, perChildren, func(o *Value) bool { return o.From != "" })
	} else {
		v.hold(s, 1, func(o *Value) bool { return o.From == "" })
	}
	v.makeRoom()
	return value, nil
}

// Get returns the value of a name in one of the spaces. The error is ErrUnknown if none has it, or more than one:
// nobody knows then which the agent means.
func (v *Vault) Get(name string, keys ...Space) (Value, error) {
	return v.only(name, keys, func(value *Value) bool { return value.Name == name })
}

// Find returns the value of an ID in one of the spaces. The error is ErrUnknown if none has it.
func (v *Vault) Find(id string, keys ...Space) (Value, error) {
	return v.only(id, keys, func(value *Value) bool { return value.ID == id })
}

// List returns the values of spaces: of each space, those that were kept last first.
func (v *Vault) List(_ context.Context, keys ...Space) (all []Value, _ error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, key := range keys {
		s := v.spaces[key]
		if s == nil || slices.Contains(keys[:i], key) {
			continue
		}
		for _, value := range slices.Backward(s.values) {
			all = append(all, value)
		}
	}
	return all, nil
}

// only returns the one value of spaces that is meant.
func (v *Vault) only(said string, keys []Space, meant func(*Value) bool) (Value, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []Value
	for i, key := range keys {
		s := v.spaces[key]
		if s == nil || slices.Contains(keys[:i], key) {
			continue
		}
		v.touch(key)
		for i := range s.values {
			if meant(&s.values[i]) {
				found = append(found, s.values[i])
			}
		}
	}
	if len(found) != 1 {
		return Value{}, fmt.Errorf("value %.20q: %w", said, ErrUnknown)
	}
	return found[0], nil
}

// open returns a space, a new one if there is none.
func (v *Vault) open(key Space) *space {
	if s := v.spaces[key]; s != nil {
		v.touch(key)
		return s
	}
	s := &space{}
	v.spaces[key] = s
	v.order = append(v.order, key)
	return s
}

// touch notes that a space is used.
func (v *Vault) touch(key Space) {
	for i, k := range v.order {
		if k == key {
			v.order = append(append(v.order[:i:i], v.order[i+1:]...), key)
			return
		}
	}
}

// makeRoom forgets spaces, but for the last one: of the owner who has most, the one that was used least lately. So no owner's values go for
// those of an owner who has more.
func (v *Vault) makeRoom() {
	for len(v.order) > 1 && (len(v.order) > v.limits.Spaces || v.total > v.limits.Total) {
		has, first := map[string]int64{}, map[string]int{}
		for i, key := range v.order[:len(v.order)-1] {
			if _, ok := first[key.Owner]; !ok {
				first[key.Owner] = i
			}
			if has[key.Owner]++; v.total > v.limits.Total {
				has[key.Owner] += v.spaces[key].size
			}
		}
		most := v.order[0].Owner
		for owner, n := range has {
			if n > has[most] {
				most = owner
			}
		}
		oldest := v.order[first[most]]
		v.total -= v.spaces[oldest].size
		delete(v.spaces, oldest)
		v.order = slices.Delete(v.order, first[most], first[most]+1)
	}
}

// Parts of the limits of a space that values of agent sessions below may take beside its own.
const (
	perChild    = 16 // of one session
	perChildren = 2  // of all
)

// hold forgets those values of a space that are meant and were kept first, until the rest of them takes a part of the
// limits of a space at most.
func (v *Vault) hold(s *space, part int, meant func(*Value) bool) {
	count, size := 0, int64(0)
	for i := range s.values {
		if meant(&s.values[i]) {
			count, size = count+1, size+s.values[i].size()
		}
	}
	for count > max(v.limits.Values/part, 1) || size > v.limits.Space/int64(part) {
		i := slices.IndexFunc(s.values, func(o Value) bool { return meant(&o) })
		gone := s.values[i].size()
		s.values = append(slices.Clone(s.values[:i]), s.values[i+1:]...)
		count, size = count-1, size-gone
		s.size, v.total = s.size-gone, v.total-gone
	}
}

// Names are w and a number of so many values, of five digits.
const (
	firstName = 10_000
	names     = 90_000
)

// name returns a name that no value of the space has, nor had lately: one is not given again before half of all names
// were given after it.
func (s *space) name() (string, error) {
	if s.count >= names/2 {
		s.given, s.count = big.Int{}, 0
		for i := range s.values {
			s.give(s.values[i].Name)
		}
	}
	for range 1000 {
		n, err := rand.Int(rand.Reader, big.NewInt(names))
		if err != nil {
			return "", fmt.Errorf("naming a hidden value: %w", err)
		}
		if s.given.Bit(int(n.Int64())) == 0 {
			name := fmt.Sprintf("w%d", firstName+n.Int64())
			s.give(name)
			return name, nil
		}
	}
	return "", errors.New("naming a hidden value: too many are kept")
}

// give notes that a name was given.
func (s *space) give(name string) {
	n, _ := strconv.Atoi(name[1:]) // it is one of ours
	if s.given.Bit(n-firstName) == 0 {
		s.given.SetBit(&s.given, n-firstName, 1)
		s.count++
	}
}
