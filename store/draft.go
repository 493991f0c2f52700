package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-mcp/weir/label"
)

// A Row is a session as a back end keeps it.
type Row struct {
	Session
	Height int // the length of the longest chain of descendants below it
}

// A Draft does the operations of a [Store] on sessions in memory, so that every back end does the same. A back end puts
// in the sessions that an operation names, as they are kept, and all their ancestors; does the operation; and writes
// the rows of [Draft.Changed], all in one transaction. An operation that returns an error has changed nothing.
//
// Now has to be set, in microseconds; Room is how many sessions may still be created. A Draft may not be used
// concurrently.
type Draft struct {
	Now  time.Time
	Room int

	rows    map[string]*Row
	changed []*Row // each once; nil for a draft that tracks nothing
	seen    map[*Row]bool
	created int
}

// NewDraft returns a draft without sessions.
func NewDraft() *Draft { return &Draft{rows: map[string]*Row{}} }

// Track makes the draft remember changes from now on.
func (d *Draft) Track() { d.seen = map[*Row]bool{} }

// Put puts a session into the draft, unless it is there.
func (d *Draft) Put(r Row) {
	if d.rows[r.Key] == nil {
		d.rows[r.Key] = &r
	}
}

// Recount sets how many calls a session of the draft has made.
func (d *Draft) Recount(key string, calls int64) { d.rows[key].Calls = calls }

// Has reports whether the session is in the draft.
func (d *Draft) Has(key string) bool { return d.rows[key] != nil }

// Get returns the session as it is in the draft.
func (d *Draft) Get(key string) (s Session, ok bool) {
	if r := d.rows[key]; r != nil {
		return r.Session, true
	}
	return s, false
}

// Row returns the session as a back end keeps it.
func (d *Draft) Row(key string) (r Row, ok bool) {
	if at := d.rows[key]; at != nil {
		return *at, true
	}
	return r, false
}

// Keys returns the keys of the sessions in the draft, in no order.
func (d *Draft) Keys() []string { return slices.Collect(maps.Keys(d.rows)) }

// Changed returns the sessions that were created or changed since Track, and how many were created.
func (d *Draft) Changed() (rows []*Row, created int) { return d.changed, d.created }

func (d *Draft) touch(r *Row) {
	if d.seen != nil && !d.seen[r] {
		d.seen[r] = true
		d.changed = append(d.changed, r)
	}
}

// Open opens a session as a [Store] does. The reference was checked.
func (d *Draft) Open(ref Ref, lim Limits) (Session, []Rise, error) {
	s, parent := d.rows[ref.Key], d.rows[ref.Parent]
	if err := d.admit(ref, s, parent); err != nil {
		return Session{}, nil, fmt.Errorf("opening session %q: %w", ref.Key, err)
	}
	if s == nil {
		s = d.create(ref.Key, ref.Principal)
	}
	if ref.Parent == s.Parent || ref.Parent == "" {
		return s.Session, nil, nil
	}
	if parent == nil {
		parent = d.create(ref.Parent, ref.Principal)
	}
	return s.Session, d.link(s, parent, lim), nil
}

// admit returns why the reference cannot be opened. Sessions that do not exist yet are nil.
func (d *Draft) admit(ref Ref, s, parent *Row) error {
	fresh := 0
	if s == nil {
		fresh++
	}
	if parent == nil && ref.Parent != "" {
		fresh++
	}
	switch {
	case s != nil && s.Principal != ref.Principal:
		return ErrPrincipal
	case parent != nil && parent.Principal != ref.Principal:
		return fmt.Errorf("parent %q: %w", ref.Parent, ErrPrincipal)
	case ref.Key == ref.Parent:
		return fmt.Errorf("%w: it is the session itself", ErrParent)
	case s != nil && s.Parent != "" && ref.Parent != "" && s.Parent != ref.Parent:
		return fmt.Errorf("%w: it has another", ErrParent)
	case fresh > 0 && fresh > d.Room:
		return ErrFull
	}
	return d.linkable(ref, s, parent)
}

// linkable returns why s cannot become a child of parent: a cycle, or a chain that gets too long for s or its
// descendants.
func (d *Draft) linkable(ref Ref, s, parent *Row) error {
	depth := 0
	if s != nil {
		depth = s.Height
	}
	if ref.Parent != "" && parent == nil {
		depth++
	}
	for p := parent; p != nil; p = d.rows[p.Parent] {
		if p == s {
			return fmt.Errorf("%w: %q descends from it", ErrParent, ref.Parent)
		}
		depth++
	}
	if depth > MaxDepth {
		return fmt.Errorf("%w: more than %d ancestors", ErrParent, MaxDepth)
	}
	return nil
}

func (d *Draft) create(key, principal string) *Row {
	s := &Row{Session: Session{Key: key, Principal: principal, Created: d.Now, Seen: d.Now}}
	d.rows[key] = s
	d.created++
	d.Room--
	d.touch(s)
	return s
}

// link makes s, which has no parent, a child of parent.
func (d *Draft) link(s, parent *Row, lim Limits) []Rise {
	given := s.Label
	s.Parent = parent.Key
	d.touch(s)
	rises := d.raise(nil, s, parent.Label, lim)
	for child := s; child.Parent != ""; child = parent {
		parent = d.rows[child.Parent]
		if parent.Height <= child.Height {
			parent.Height = child.Height + 1
			d.touch(parent)
		}
		rises = d.raise(rises, parent, given, lim)
	}
	return rises
}

// raise joins a label into one session and appends the rise, if there is one.
func (d *Draft) raise(rises []Rise, r *Row, l label.Label, lim Limits) []Rise {
	before, after := r.Label, lim.Join(r.Label, l)
	if before.Covers(after) {
		return rises
	}
	r.Label = after
	d.touch(r)
	return append(rises, Rise{r.Key, before, after})
}

// Join joins a label as a [Store] does.
func (d *Draft) Join(key string, l label.Label, lim Limits) (Session, []Rise, error) {
	s := d.rows[key]
	if s == nil {
		return Session{}, nil, fmt.Errorf("joining into session %q: %w", key, ErrNotFound)
	}
	rises := d.raise(nil, s, l, lim)
	if rises != nil {
		d.see(s)
	}
	for p := d.rows[s.Parent]; p != nil; p = d.rows[p.Parent] {
		rises = d.raise(rises, p, l, lim)
	}
	return s.Session, rises, nil
}

// Count counts a call as a [Store] does.
func (d *Draft) Count(key string) (int64, error) {
	s := d.rows[key]
	if s == nil {
		return 0, fmt.Errorf("counting a call of session %q: %w", key, ErrNotFound)
	}
	d.see(s)
	s.Calls++
	return s.Calls, nil
}

func (d *Draft) see(r *Row) {
	if d.Now.Sub(r.Seen) >= SeenWithin {
		r.Seen = d.Now
	}
	d.touch(r)
}

// Descendants returns the key of the session and those of all its descendants in the draft, each after its parent. The
// error is ErrNotFound if there is no such session.
func (d *Draft) Descendants(key string) ([]string, error) {
	if d.rows[key] == nil {
		return nil, fmt.Errorf("session %q: %w", key, ErrNotFound)
	}
	children := map[string][]string{}
	for k, r := range d.rows {
		children[r.Parent] = append(children[r.Parent], k)
	}
	keys := []string{key}
	for i := 0; i < len(keys); i++ {
		next := children[keys[i]]
		slices.Sort(next)
		keys = append(keys, next...)
	}
	return keys, nil
}

// Lower lowers labels as a [Custodian] does. The draft holds all descendants of the session.
func (d *Draft) Lower(key string, drop label.Label) ([]Rise, error) {
	keys, err := d.Descendants(key)
	var changes []Rise
	for _, k := range keys {
		r := d.rows[k]
		before := r.Label
		after := before.Without(drop)
		if after.Equal(before) {
			continue
		}
		r.Label = after
		d.touch(r)
		changes = append(changes, Rise{k, before, after})
	}
	return changes, err
}
