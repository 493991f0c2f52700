package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	// adopted is the outcome of the entry by which a log takes over state that an older version wrote.
	adopted = "adopted"

	// readUnproved is 1 if the log tells of no row of the state, and there may be some: an older version wrote it.
	readUnproved = `select case when exists (select 1 from entry where kind = 'state' and kind <> 'decision')
	or exists (select 1 from entry where outcome = 'adopted') then 0
	when exists (select 1 from entry) or exists (select 1 from session) or exists (select 1 from taint) or exists (select 1 from question)
	then 1 else 0 end`

	readLabels = `select ` + rowColumns + ` from entry
where kind <> 'decision' and kind in ('label', 'taint', 'declassify', 'forget') order by seq`
	readAllSessions  = `select ` + sessionColumns + ` from session s order by s.key`
	readAllTaints    = `select ` + taintColumns + ` from taint order by resource`
	readAllQuestions = `select ` + questionColumns + ` from question order by id`
	dropQuestions    = `delete from question where not (answer = 'accepted' and substr(binding, 1, 4) = '` + store.EndPrefix + `')`
	readAllRows      = `select ` + rowColumns + ` from entry order by seq`
	readErased       = `select seq from entry where length(salt) = 0 order by seq`
)

// repair brings the database into agreement with its log.
type repair struct{ *writer }

// Adopt has the log tell of state that an older version wrote, in one transaction, if it tells of none. The label of a
// session or a resource is at least the join of its events: a row that was lowered before is raised again. Of approval
// requests only the ends of sessions are taken over: nothing proves that a person has accepted, so each call is asked
// about again. A log with changed entries is [audit.ErrDamaged].
func (d *repair) Adopt(ctx context.Context) error {
	if err := d.adopt(ctx); err != nil {
		return fmt.Errorf("taking over the state of an older version: %w", err)
	}
	return nil
}

func (d *repair) adopt(ctx context.Context) error {
	unproved := 0
	scan := func(rows *sql.Rows) error { return rows.Scan(&unproved) }
	if err := d.reads.query(ctx, readUnproved, scan); err != nil || unproved == 0 {
		return err
	}
	o := &op{alone: true, long: true}
	o.run = func(ctx context.Context, u *unit) error {
		o.entries = nil
		if err := u.read(ctx, readUnproved, scan); err != nil || unproved == 0 {
			return err
		}
		a := adoption{unit: u, told: told{labels: map[string]label.Label{}, taints: map[string]label.Label{}, parents: map[string]string{}}}
		if err := a.genuine(ctx); err != nil {
			return err
		}
		if err := a.read(ctx, readLabels, a.told.add); err != nil {
			return err
		}
		if err := a.sessions(ctx); err != nil {
			return err
		}
		if err := a.taints(ctx); err != nil {
			return err
		}
		dropped, err := a.ends(ctx)
		if err != nil {
			return err
		}
		marker, err := a.marker(ctx, dropped)
		o.entries = []audit.Entry{marker}
		return err
	}
	return d.do(ctx, o)
}

// An adoption takes over the state of an older version, in a write transaction.
type adoption struct {
	*unit
	told told
}

// genuine reports whether all entries are there and as their leaves say, and none proves the state already: the rows of
// a query may not be all, where columns, indices or pages were changed.
func (u *adoption) genuine(ctx context.Context) error {
	next := int64(0)
	err := u.read(ctx, readAllRows, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		if _, err := r.Check(); err != nil || r.Seq != next {
			return fmt.Errorf("%w: entry %d: %w", audit.ErrDamaged, next, cmp.Or(err, errors.New("it is missing")))
		}
		if r.Kind == string(record.StateRow) || r.Outcome == adopted {
			return fmt.Errorf("%w: entry %d proves state, and is not found", audit.ErrDamaged, r.Seq)
		}
		next++
		return nil
	})
	if err == nil && next != u.head.Size {
		err = fmt.Errorf("%w: it ends after %d entries, not %d", audit.ErrDamaged, next, u.head.Size)
	}
	return err
}

// marker returns the entry that tells of the adoption, with how many approval requests were dropped, and names the
// entries that were erased before the log grew under an anchor. Since then each erasure has an event of its own.
func (u *adoption) marker(ctx context.Context, dropped int64) (audit.Entry, error) {
	var erased []int64
	var err error
	if a := u.prover.opts.Anchor; a == nil || !a.Used() {
		err = u.read(ctx, readErased, func(rows *sql.Rows) error {
			var seq int64
			err := rows.Scan(&seq)
			erased = append(erased, seq)
			return err
		})
	}
	e := record.New(record.Erase, u.now())
	e.Effect, e.Rule, e.Binding = adopted, "upgrade", record.RangesOf(erased).String()
	e.Message = fmt.Sprintf("the log proves the state from here on; entries erased before are named here, and by no event of their own; "+
		"%d approval requests were not taken over", dropped)
	body, encoding := u.prover.encoder.Encode(e)
	if err == nil {
		err = encoding
	}
	return audit.Entry{Time: e.Time, Kind: string(e.Kind), Outcome: adopted, Body: body}, err
}

func (u *adoption) sessions(ctx context.Context) error {
	var raised []*store.Row
	err := u.read(ctx, readAllSessions, func(rows *sql.Rows) error {
		r, err := scanSession(rows)
		if err != nil {
			return err
		}
		if more := label.Join(r.Label, u.told.labels[r.Key]); !more.Equal(r.Label) {
			r.Label = more
			raised = append(raised, &r)
		}
		k := keptSession(&r.Session)
		k.Calls = &r.Calls
		u.keep(k)
		return nil
	})
	if err != nil || len(raised) == 0 {
		return err
	}
	if u.failed == nil {
		u.failed = u.writeSessions(ctx, raised)
	}
	return u.failed
}

func (u *adoption) taints(ctx context.Context) error {
	var taints []store.Taint
	err := u.read(ctx, readAllTaints, func(rows *sql.Rows) error {
		t, err := scanTaint(rows)
		t.Label = label.Join(t.Label, u.told.taints[t.Resource])
		taints = append(taints, t)
		return err
	})
	for i := 0; i < len(taints) && err == nil; i++ {
		t := &taints[i]
		var text string
		if text, err = formatLabel(t.Label); err == nil {
			_, err = u.change(ctx, writeTaint, t.Resource, text, micros(t.Written), micros(t.Expires))
		}
		u.keep(keptTaint(t))
	}
	return err
}

// ends takes over that sessions have ended, and removes all other approval requests, which it counts.
func (u *adoption) ends(ctx context.Context) (dropped int64, err error) {
	if dropped, err = u.change(ctx, dropQuestions); err != nil {
		return 0, err
	}
	return dropped, u.read(ctx, readAllQuestions, func(rows *sql.Rows) error {
		q, err := scanQuestion(rows)
		u.keep(keptQuestion(&q))
		return err
	})
}

// told holds the labels by the events of an older version.
type told struct {
	labels, taints map[string]label.Label
	parents        map[string]string
}

func (t *told) add(rows *sql.Rows) error {
	r, err := scanRow(rows)
	if err != nil {
		return err
	}
	var e record.Event
	if json.Unmarshal(r.Body, &e) != nil {
		return nil // not an event of ours
	}
	if e.Label == nil {
		e.Label = &label.Label{}
	}
	if e.Parent != "" && t.parents[e.Session] == "" && e.Parent != e.Session {
		t.parents[e.Session] = e.Parent
	}
	switch e.Kind {
	case record.Label:
		for _, key := range t.above(e.Session) {
			t.labels[key] = label.Join(t.labels[key], *e.Label)
		}
	case record.Taint:
		name := store.ResourceName(e.Where)
		t.taints[name] = label.Join(t.taints[name], *e.Label)
	case record.Declassify:
		if e.Session == "" {
			t.clear(e.Name)
		}
		t.below(e.Session, func(key string) { t.labels[key] = t.labels[key].Without(*e.Label) })
	case record.Forget:
		t.below(e.Session, func(key string) { delete(t.labels, key) })
	}
	return nil
}

// above returns a session and its ancestors.
func (t *told) above(key string) (keys []string) {
	for ; key != "" && len(keys) <= store.MaxDepth; key = t.parents[key] {
		keys = append(keys, key)
	}
	return keys
}

// below calls do for a session and all that descend from it.
func (t *told) below(key string, do func(string)) {
	for other := range t.labels {
		for _, above := range t.above(other) {
			if above == key && key != "" {
				do(other)
				break
			}
		}
	}
}

func (t *told) clear(resource string) {
	name, first, end := span(resource)
	for other := range t.taints {
		if other == name || other >= first && other < end {
			delete(t.taints, other)
		}
	}
}
