package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"iter"

	"github.com/weir-mcp/weir/store"
)

const (
	pinColumns = `scope, name, digest, body, accepted_by, pinned`

	// keepPin keeps a pin that is there, and returns it: a conflict that writes the same again makes the row come back.
	keepPin = `insert into pin (` + pinColumns + `) values ($1, $2, $3, $4, $5, $6)
on conflict (scope, name) do update set digest = pin.digest returning ` + pinColumns
	replacePin = `insert into pin (` + pinColumns + `) values ($1, $2, $3, $4, $5, $6)
on conflict (scope, name) do update set digest = excluded.digest, body = excluded.body,
	accepted_by = excluded.accepted_by, pinned = excluded.pinned`
	findPin    = `select ` + pinColumns + ` from pin where scope = $1 and name = $2`
	removePins = `delete from pin where scope = $1 and ($2 = '' or name = $2)`
	listPins   = `select ` + pinColumns + ` from pin where ($1 = '' or scope = $1) and (scope > $2 or (scope = $2 and name > $3))
order by scope, name limit 200`
)

func scanPin(rows *sql.Rows) (p store.Pin, err error) {
	var pinned int64
	err = rows.Scan(&p.Scope, &p.Name, &p.Digest, &p.Body, &p.By, &pinned)
	p.Pinned = fromMicros(pinned)
	return p, err
}

// pins implement [store.Pins].
type pins struct{ *writer }

// Pin implements [store.Pins]. A pin that is there is one query.
func (d *pins) Pin(ctx context.Context, p store.Pin) (kept store.Pin, err error) {
	if err := cmp.Or(ctx.Err(), p.Check()); err != nil {
		return store.Pin{}, err
	}
	known := false
	scan := func(rows *sql.Rows) (err error) {
		kept, err = scanPin(rows)
		known = true
		return err
	}
	if err := d.reads.query(ctx, findPin, scan, p.Scope, p.Name); err != nil || known {
		return kept, err
	}
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		u.wrote = true
		return u.read(ctx, keepPin, scan, p.Scope, p.Name, p.Digest, notNil(p.Body), p.By, micros(u.now()))
	}})
	if err != nil {
		return store.Pin{}, err
	}
	return kept, nil
}

// Repin implements [store.Pins].
func (d *pins) Repin(ctx context.Context, p store.Pin) error {
	if err := cmp.Or(ctx.Err(), p.Check()); err != nil {
		return err
	}
	return d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		_, err := u.change(ctx, replacePin, p.Scope, p.Name, p.Digest, notNil(p.Body), p.By, micros(u.now()))
		return err
	}})
}

// Unpin implements [store.Pins].
func (d *pins) Unpin(ctx context.Context, scope, name string) (n int64, err error) {
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) (err error) {
		n, err = u.change(ctx, removePins, scope, name)
		return err
	}})
	return n, err
}

// Pinned implements [store.Pins].
func (d *pins) Pinned(ctx context.Context, scope string) iter.Seq2[store.Pin, error] {
	return pages(ctx, pageSize, [2]string{}, func(at [2]string) ([]store.Pin, [2]string, error) {
		var page []store.Pin
		err := d.reads.query(ctx, listPins, func(rows *sql.Rows) error {
			p, err := scanPin(rows)
			page, at = append(page, p), [2]string{p.Scope, p.Name}
			return err
		}, scope, at[0], at[1])
		return page, at, err
	})
}
