package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

const (
	taintColumns = `resource, label, written, expires`

	findTaint   = `select ` + taintColumns + ` from taint where resource = $1`
	countTaints = `select count(*) from taint`
	writeTaint  = `insert into taint (` + taintColumns + `) values ($1, $2, $3, $4)
on conflict (resource) do update set label = excluded.label, written = excluded.written, expires = excluded.expires`
	taintsAbove = `select ` + taintColumns + ` from taint where resource in %s`
	taintsBelow = `select ` + taintColumns + ` from taint where resource >= $1 and resource < $2`
	listTaints  = `select ` + taintColumns + ` from taint
where resource > $1 and (resource = $2 or (resource >= $3 and resource < $4)) and (expires = 0 or expires > $5)
order by resource limit 200`
	clearTaints = `delete from taint where resource = $1 or (resource >= $2 and resource < $3)`
)

func scanTaint(rows *sql.Rows) (t store.Taint, err error) {
	var text []byte
	var written, expires int64
	if err := rows.Scan(&t.Resource, &text, &written, &expires); err != nil {
		return t, err
	}
	t.Written, t.Expires = fromMicros(written), fromMicros(expires)
	t.Label, err = parseLabel(text)
	return t, err
}

// Taint implements [store.Taints].
func (d *DB) Taint(ctx context.Context, t store.Taint, lim store.Limits) (merged store.Taint, err error) {
	if err := cmp.Or(ctx.Err(), t.Check()); err != nil {
		return store.Taint{}, err
	}
	err = d.writer.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		var old store.Taint
		known := false
		scan := func(rows *sql.Rows) (err error) {
			old, err = scanTaint(rows)
			known = true
			return err
		}
		if err := u.read(ctx, findTaint, scan, store.ResourceName(t.Resource)); err != nil {
			return err
		}
		if !known {
			if err := u.roomForTaint(ctx); err != nil {
				return err
			}
		}
		merged = old.Merge(t, u.now(), lim)
		text, err := formatLabel(merged.Label)
		if err != nil {
			return err
		}
		_, err = u.change(ctx, writeTaint, merged.Resource, text, micros(merged.Written), micros(merged.Expires))
		return err
	}})
	if err != nil {
		return store.Taint{}, err
	}
	return merged, nil
}

func (u *unit) roomForTaint(ctx context.Context) error {
	n := 0
	if err := u.read(ctx, countTaints, func(rows *sql.Rows) error { return rows.Scan(&n) }); err != nil {
		return err
	}
	if n >= store.MaxTaints {
		return store.ErrTooManyTaints
	}
	return nil
}

// Tainted implements [store.Taints].
func (d *DB) Tainted(ctx context.Context, resource string, lim store.Limits) (label.Label, error) {
	if err := ctx.Err(); err != nil {
		return label.Label{}, err
	}
	var found []store.Taint
	now := d.clock()
	scan := func(rows *sql.Rows) error {
		t, err := scanTaint(rows)
		if t.Live(now) {
			found = append(found, t)
		}
		return err
	}
	if err := d.reads.among(ctx, taintsAbove, store.ResourceAbove(resource), scan); err != nil {
		return label.Label{}, err
	}
	first, end := store.ResourceBelow(resource)
	if err := d.reads.query(ctx, taintsBelow, scan, first, end); err != nil {
		return label.Label{}, err
	}
	slices.SortFunc(found, func(a, b store.Taint) int { return strings.Compare(a.Resource, b.Resource) })
	var l label.Label
	for _, t := range found {
		l = lim.Join(l, t.Label)
	}
	return l, nil
}

// span returns a resource's name and the range of what is part of it. All is part of "".
func span(resource string) (name, first, end string) {
	if resource == "" {
		return "", "", "\U0010ffff\U0010ffff"
	}
	first, end = store.ResourceBelow(resource)
	return store.ResourceName(resource), first, end
}

// Tainting implements [store.Taints].
func (d *DB) Tainting(ctx context.Context, resource string) iter.Seq2[store.Taint, error] {
	name, first, end := span(resource)
	return pages(ctx, pageSize, "", func(at string) ([]store.Taint, string, error) {
		var page []store.Taint
		err := d.reads.query(ctx, listTaints, func(rows *sql.Rows) error {
			t, err := scanTaint(rows)
			page, at = append(page, t), t.Resource
			return err
		}, at, name, first, end, micros(d.clock()))
		return page, at, err
	})
}

// Clear implements [store.Taints].
func (d *DB) Clear(ctx context.Context, resource string) (n int64, err error) {
	name, first, end := span(resource)
	err = d.writer.do(ctx, &op{run: func(ctx context.Context, u *unit) (err error) {
		n, err = u.change(ctx, clearTaints, name, first, end)
		return err
	}})
	return n, err
}
