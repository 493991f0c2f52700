// Package vault keeps the results that an agent was not shown, so that the agent can use them without reading them.
//
//	v := vault.New(vault.Limits{})
//	kept, err := v.Put(ctx, vault.Space{Key: "c-1"}, vault.Value{Server: "mail", Result: result, Label: l})
//	fmt.Println(kept.Handle())                                   // [[w48213]]
//	arguments, filling, err := v.Expand(ctx, arguments, spend, vault.Space{Key: "c-1"}) // handles are replaced by parts of values
//
// A value belongs to a space: an agent session with those above and below it. Its name comes from a secret of the space, so that neither
// an earlier conversation nor text of a stranger names a value by chance. A value never changes, and goes with its space.
//
// A handle in a string of the arguments is [[NAME]], for the text of the value, or [[NAME#POINTER]], for the part of its [Value.Document]
// to which a JSON pointer points. A string that is one handle with a pointer becomes that part, whatever its type. Handles are expanded
// once: text that they stand for is not searched for others.
//
// A [Look] reads a number, a truth value, a date or one of several choices from a value. [Vault.Spend] counts the bits
// that looks and expansions tell, before they do.
//
// A vault of [New] is in memory. One of [Open] keeps all in a [store.Values], sealed, so that other processes have it
// too, and later ones: each operation asks the store, and has written when it returns. A vault is safe for concurrent
// use. It is bounded: values that were kept first go first. The number of bits that looks have told stays as long as
// the session does.
package vault

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/store"
)

// Errors of a vault.
var (
	ErrUnknown  = errors.New("no such value is kept in this agent session")
	ErrTooLarge = errors.New("the value is too large to be kept")
	ErrSealed   = errors.New("the value cannot be read with the key of this machine")
)

// Limits of a vault. Zero fields have the values of the comments.
type Limits struct {
	Value  int64 // bytes of one value; 8 MiB
	Space  int64 // bytes of the values of a space; 32 MiB
	Values int   // values of a space; 1024
	Total  int64 // bytes of all values, as the store has them; 128 MiB
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
	return l
}

// A Sealer encrypts the values of a vault.
type Sealer interface {
	Seal(plain []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// A Vault keeps values. Make one with [New] or [Open].
type Vault struct {
	limits Limits
	values store.Values
	sealer Sealer      // nil: nothing is sealed
	used   atomic.Bool // there may be values
	opened opened
}

// A Space names the values of an agent session, and of those above and below it.
type Space struct{ Owner, Key string }

// New returns a vault in memory.
func New(limits Limits) *Vault {
	return &Vault{limits: limits.orDefaults(), values: &store.MemoryValues{}}
}

// Open returns a vault of values that are kept in a store, sealed. The key of a space is that of a session of its
// owner there.
func Open(ctx context.Context, values store.Values, sealer Sealer, limits Limits) (*Vault, error) {
	v := &Vault{limits: limits.orDefaults(), values: values, sealer: sealer}
	uses, err := values.ValueUses(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the hidden values: %w", err)
	}
	v.used.Store(len(uses) > 0)
	return v, nil
}

// Use says that results may be hidden from now on, by any process: see [Vault.Quiet].
func (v *Vault) Use() { v.used.Store(true) }

// Put keeps a value in a space, and returns it with its name. Values that sessions below returned push out none but
// their like: those of one session at most a sixteenth of the limits of a space, and those of all together half of them.
func (v *Vault) Put(ctx context.Context, key Space, value Value) (Value, error) {
	if value.size() > v.limits.Value || value.From != "" && value.size() > v.limits.Space/perChild {
		return Value{}, ErrTooLarge
	}
	value.Result, value.Error = bytes.Clone(value.Result), bytes.Clone(value.Error)
	value.Arguments, value.Part, value.Output = bytes.Clone(value.Arguments), bytes.Clone(value.Part), bytes.Clone(value.Output)
	value.ID, value.Name = rand.Text(), ""
	row, err := v.row(key, &value)
	if err != nil {
		return Value{}, err
	}
	v.used.Store(true)
	err = v.change(ctx, key, func(s *space) error {
		value.Name = s.add(row, note{kind: kindValue, bytes: value.size(), from: value.From})
		if value.From != "" {
			v.hold(s, perChild, func(n *note) bool { return n.from == value.From })
			v.hold(s, perChildren, func(n *note) bool { return n.from != "" })
		} else {
			v.hold(s, 1, func(n *note) bool { return n.from == "" })
		}
		return nil
	})
	if err != nil {
		return Value{}, fmt.Errorf("keeping a hidden value: %w", err)
	}
	v.opened.put(value)
	v.makeRoom(ctx, key)
	return value, nil
}

// Get returns the value of a name in one of the spaces. The error is ErrUnknown if none has it, or more than one:
// nobody knows then which the agent means.
func (v *Vault) Get(ctx context.Context, name string, keys ...Space) (Value, error) {
	return v.only(ctx, name, keys, func(e *entry) bool { return e.name == name })
}

// Find returns the value of an ID in one of the spaces. The error is ErrUnknown if none has it.
func (v *Vault) Find(ctx context.Context, id string, keys ...Space) (Value, error) {
	return v.only(ctx, id, keys, func(e *entry) bool { return e.row.ID == id })
}

// List returns the values of spaces: of each space, those that were kept last first. Those that are sealed for another
// key are left out.
func (v *Vault) List(ctx context.Context, keys ...Space) (all []Value, err error) {
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		s, err := v.space(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(s.values) {
			value, err := v.load(ctx, e.row)
			if errors.Is(err, ErrSealed) || errors.Is(err, ErrUnknown) {
				continue
			}
			if err != nil {
				return nil, err
			}
			value.Name = e.name
			all = append(all, value)
		}
	}
	return all, nil
}

// only returns the one value of spaces that is meant.
func (v *Vault) only(ctx context.Context, said string, keys []Space, meant func(*entry) bool) (Value, error) {
	var found []entry
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		s, err := v.space(ctx, key)
		if err != nil {
			return Value{}, err
		}
		for j := range s.values {
			if e := &s.values[j]; meant(e) {
				found = append(found, *e)
			}
		}
	}
	if len(found) != 1 {
		return Value{}, fmt.Errorf("value %.20q: %w", said, ErrUnknown)
	}
	value, err := v.load(ctx, found[0].row)
	value.Name = found[0].name
	return value, err
}

// makeRoom forgets values of other spaces: of the owner who has most, those of the space that was used least lately.
// So no owner's values go for those of an owner who has more. A space whose values cannot be removed now keeps them
// until another value is kept.
func (v *Vault) makeRoom(ctx context.Context, key Space) {
	uses, err := v.values.ValueUses(ctx)
	if err != nil {
		return
	}
	slices.SortFunc(uses, func(a, b store.ValueUse) int { return a.Last.Compare(b.Last) })
	total, has := int64(0), map[string]int64{}
	for _, u := range uses {
		total, has[u.Principal] = total+u.Bytes, has[u.Principal]+u.Bytes
	}
	for total > v.limits.Total {
		oldest := map[string]int{}
		for i := len(uses) - 1; i >= 0; i-- {
			if u := &uses[i]; u.Bytes > 0 && (Space{u.Principal, u.Session}) != key {
				oldest[u.Principal] = i
			}
		}
		if len(oldest) == 0 {
			return
		}
		owners := slices.Sorted(maps.Keys(oldest))
		u := &uses[oldest[slices.MaxFunc(owners, func(a, b string) int { return cmp.Compare(has[a], has[b]) })]]
		_ = v.change(ctx, Space{u.Principal, u.Session}, func(s *space) error {
			for _, e := range s.values {
				s.gone = append(s.gone, e.row.ID)
			}
			return nil
		})
		total, has[u.Principal], u.Bytes = total-u.Bytes, has[u.Principal]-u.Bytes, 0
	}
}

// space returns the space of a key, as the store has it now.
func (v *Vault) space(ctx context.Context, key Space) (*space, error) {
	rows, err := v.values.Values(ctx, key.Owner, key.Key)
	if err != nil {
		return nil, err
	}
	return read(rows)
}

// change changes a space, in one transaction.
func (v *Vault) change(ctx context.Context, key Space, change func(*space) error) error {
	return v.values.Revalue(ctx, key.Owner, key.Key, func(rows []store.Value) (c store.ValueChange, err error) {
		s, err := read(rows)
		if err != nil {
			return c, err
		}
		before := s.account
		if s.account.secret == "" {
			s.account.secret = rand.Text()
		}
		if err := change(s); err != nil {
			return c, err
		}
		c = store.ValueChange{Put: s.put, Gone: s.gone}
		if counted := s.account; counted != before && (len(s.put) > 0 || counted.told() != before.told()) {
			id := sha256.Sum256([]byte(key.Key))
			c.Put = append(c.Put, store.Value{ID: "account-" + hex.EncodeToString(id[:]), Principal: key.Owner, Session: key.Key,
				Note: (&note{kind: kindAccount, account: counted}).text()})
		}
		return c, nil
	})
}

// row returns the row in which a value is kept, with its body.
func (v *Vault) row(key Space, value *Value) (store.Value, error) {
	body, err := value.encode()
	if err == nil && v.sealer != nil {
		body, err = v.sealer.Seal(body)
	}
	if err != nil {
		return store.Value{}, fmt.Errorf("sealing a hidden value: %w", err)
	}
	return store.Value{ID: value.ID, Principal: key.Owner, Session: key.Key, Label: value.Label, Note: kindNumber, Body: body}, nil
}

// load returns the value of a row. The name in it does not count.
func (v *Vault) load(ctx context.Context, row *store.Value) (Value, error) {
	if value, ok := v.opened.get(row.ID); ok {
		return value, nil
	}
	body, err := v.values.Body(ctx, *row)
	if errors.Is(err, store.ErrNotFound) {
		return Value{}, ErrUnknown
	}
	if err != nil {
		return Value{}, err
	}
	if v.sealer != nil {
		if body, err = v.sealer.Open(body); err != nil {
			return Value{}, fmt.Errorf("%w: %w", ErrSealed, err)
		}
	}
	value, err := decode(body)
	if err != nil || value.ID != row.ID {
		return Value{}, fmt.Errorf("%w: %w", ErrSealed, errors.Join(err, errors.New("it is another")))
	}
	value.Label = row.Label
	v.opened.put(value)
	return value, nil
}

// Parts of the limits of a space that values of agent sessions below may take beside its own.
const (
	perChild    = 16 // of one session
	perChildren = 2  // of all
)

// hold forgets those values of a space that are meant and were kept first, until the rest of them takes a part of the
// limits of a space at most.
func (v *Vault) hold(s *space, part int, meant func(*note) bool) {
	count, size := 0, int64(0)
	for i := range s.values {
		if meant(&s.values[i].note) {
			count, size = count+1, size+s.values[i].bytes
		}
	}
	for count > max(v.limits.Values/part, 1) || size > v.limits.Space/int64(part) {
		i := slices.IndexFunc(s.values, func(e entry) bool { return meant(&e.note) })
		gone := s.values[i]
		count, size = count-1, size-gone.bytes
		s.values = slices.Delete(s.values, i, i+1)
		s.gone = append(s.gone, gone.row.ID)
	}
}

// opened are values that were read, so that they need not be opened again. None changes.
type opened struct {
	mu    sync.Mutex
	all   map[string]Value // by ID
	order []string         // the one that was put last at the end
	size  int64
}

// maxOpened bounds the memory of opened values, in bytes.
const maxOpened = 32 << 20

func (o *opened) get(id string) (Value, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	value, ok := o.all[id]
	return value, ok
}

func (o *opened) put(value Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, there := o.all[value.ID]; there {
		return
	}
	if o.all == nil {
		o.all = map[string]Value{}
	}
	o.all[value.ID] = value
	o.order = append(o.order, value.ID)
	for o.size += value.size(); o.size > maxOpened && len(o.order) > 1; o.order = o.order[1:] {
		first := o.all[o.order[0]]
		o.size -= first.size()
		delete(o.all, first.ID)
	}
}
