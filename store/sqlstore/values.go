package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	listValues = `select ` + valueColumns + ` from hidden where session = $1`
	readValue  = `select body from hidden where id = $1`
	writeValue = `insert into hidden (` + valueColumns + `, body) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (id) do update set principal = excluded.principal, session = excluded.session, label = excluded.label,
	note = excluded.note, digest = excluded.digest, size = excluded.size, kept = excluded.kept, body = excluded.body`
	removeValue   = `delete from hidden where id = $1`
	valueSessions = `select distinct session from hidden where session in %s`
	useOfValues   = `select session, principal, cast(sum(size) as bigint), max(kept) from hidden group by session, principal`
)

// values implement [store.Values].
type values struct{ *writer }

// A keptValue is a value as it is listed, with the digest of its body.
type keptValue struct {
	store.Value
	digest string
}

// Values implements [store.Values].
func (d *values) Values(ctx context.Context, principal, session string) ([]store.Value, error) {
	found, err := d.valuesOf(ctx, principal, session)
	if err != nil {
		return nil, fmt.Errorf("values of session %q: %w", session, err)
	}
	return unwrapped(found), nil
}

func unwrapped(found []keptValue) []store.Value {
	all := make([]store.Value, len(found))
	for i := range found {
		all[i] = found[i].Value
	}
	return all
}

// valuesOf returns the values of a session, which are as the log proves. None is missing.
func (d *values) valuesOf(ctx context.Context, principal, session string) (found []keptValue, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var head *headRow
	known := false
	at, err := d.recall(ctx, func(m *recent) {
		found, known = m.values.Get(session)
		head = m.head
	})
	if err == nil && !known {
		err = d.proven(ctx, head, func(s *snapshot) (err error) {
			earlier := d.proofs.get(valuesIn(session).Chain())
			var rows []record.Kept
			if found, rows, err = valueRows(ctx, s.statements, session); err == nil {
				err = d.settled(ctx, s, claim{name: valuesIn(session), rows: rows, known: earlier})
			}
			if err == nil {
				head = &s.headRow
			}
			return err
		})
		if err == nil {
			d.remember(at, func(m *recent) {
				m.head = head
				m.values.Set(session, found)
			})
		}
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(found, func(v keptValue) bool { return v.Principal != principal }) {
		return nil, nil
	}
	return found, nil
}

// valuesIn names the values of a session.
func valuesIn(session string) *record.Kept {
	k := keptOf(&keptValue{Value: store.Value{Session: session}})
	k.Key = "of " + session
	return &k
}

// valueRows reads the values of a session.
func valueRows(ctx context.Context, s *statements, session string) (found []keptValue, rows []record.Kept, err error) {
	err = s.query(ctx, listValues, func(r *sql.Rows) error {
		v, err := scanValue(r)
		found, rows = append(found, v), append(rows, keptOf(&v))
		return err
	}, session)
	return found, rows, err
}

// Body implements [store.Values].
func (d *values) Body(ctx context.Context, v store.Value) ([]byte, error) {
	found, err := d.valuesOf(ctx, v.Principal, v.Session)
	if err != nil {
		return nil, fmt.Errorf("reading value %q: %w", v.ID, err)
	}
	i := slices.IndexFunc(found, func(o keptValue) bool { return o.ID == v.ID })
	if i < 0 {
		return nil, fmt.Errorf("reading value %q: %w", v.ID, store.ErrNotFound)
	}
	var body []byte
	there := false
	err = d.reads.query(ctx, readValue, func(r *sql.Rows) error { there = true; return r.Scan(&body) }, v.ID)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("reading value %q: %w", v.ID, store.ErrNotFound)
	}
	if saltedDigest(v.ID, body) == found[i].digest {
		return body, nil
	}
	// Another process may have written a new body since.
	if again, err := d.valuesOf(ctx, v.Principal, v.Session); err != nil || !slices.ContainsFunc(again, func(o keptValue) bool {
		return o.ID == v.ID && o.digest == found[i].digest
	}) {
		return nil, cmp.Or(err, fmt.Errorf("reading value %q: %w", v.ID, store.ErrNotFound))
	}
	k := keptOf(&found[i])
	return nil, d.damage(&k, -1, "its bytes are not as they were written")
}

// Revalue implements [store.Values].
func (d *values) Revalue(ctx context.Context, principal, session string, change func([]store.Value) (store.ValueChange, error)) error {
	return d.do(ctx, &op{sessions: []string{session}, run: func(ctx context.Context, u *unit) error {
		switch s, ok := u.draft.Get(session); {
		case !ok:
			return fmt.Errorf("values of session %q: %w", session, store.ErrNotFound)
		case s.Principal != principal:
			return fmt.Errorf("values of session %q: %w", session, store.ErrPrincipal)
		}
		found, rows, err := valueRows(ctx, u.statements, session)
		if err := cmp.Or(u.fail(err), u.settled(ctx, valuesIn(session), rows)); err != nil {
			return err
		}
		c, err := change(unwrapped(found))
		if err := cmp.Or(err, c.Check(principal, session)); err != nil {
			return err
		}
		return revalue(ctx, u, found, &c)
	}})
}

// revalue writes and removes values of one session.
func revalue(ctx context.Context, u *unit, found []keptValue, c *store.ValueChange) error {
	for _, id := range c.Gone {
		if i := slices.IndexFunc(found, func(v keptValue) bool { return v.ID == id }); i >= 0 {
			if err := dropValue(ctx, u, &found[i], "removed"); err != nil {
				return err
			}
		}
	}
	for _, v := range c.Put {
		v.Size, v.Kept = int64(len(v.Body)), u.now()
		kept := keptValue{v, saltedDigest(v.ID, v.Body)}
		text, err := formatLabel(v.Label)
		if err != nil {
			return u.fail(err)
		}
		_, err = u.change(ctx, writeValue,
			v.ID, v.Principal, v.Session, text, v.Note, kept.digest, v.Size, micros(v.Kept), notNil(v.Body))
		if err != nil {
			return err
		}
		u.keep(keptOf(&kept))
	}
	return nil
}

func dropValue(ctx context.Context, u *unit, v *keptValue, why string) error {
	k := keptOf(v)
	u.keep(k.Left(why))
	_, err := u.change(ctx, removeValue, v.ID)
	return err
}

// dropValues removes the values of sessions that are removed.
func dropValues(ctx context.Context, u *unit, sessions []string, why string) error {
	var having []string
	err := u.fail(among(ctx, u.statements, valueSessions, sessions, func(r *sql.Rows) error {
		var key string
		err := r.Scan(&key)
		having = append(having, key)
		return err
	}))
	for i := 0; i < len(having) && err == nil; i++ {
		var found []keptValue
		found, _, err = valueRows(ctx, u.statements, having[i])
		for j := 0; j < len(found) && err == nil; j++ {
			err = dropValue(ctx, u, &found[j], why)
		}
	}
	return u.fail(err)
}

// ValueUses implements [store.Values].
func (d *values) ValueUses(ctx context.Context) (all []store.ValueUse, err error) {
	err = d.reads.query(ctx, useOfValues, func(r *sql.Rows) error {
		var u store.ValueUse
		var last int64
		err := r.Scan(&u.Session, &u.Principal, &u.Bytes, &last)
		u.Last = fromMicros(last)
		all = append(all, u)
		return err
	})
	return all, err
}
