package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	findTaint   = `select ` + taintColumns + ` from taint where resource = $1`
	countTaints = `select count(*) from taint`
	writeTaint  = `insert into taint (` + taintColumns + `) values ($1, $2, $3, $4)
on conflict (resource) do update set label = excluded.label, written = excluded.written, expires = excluded.expires`
	taintsAbove = `select ` + taintColumns + ` from taint where resource in %s`
	taintsBelow = `select ` + taintColumns + ` from taint where resource >= $1 and resource < $2`
	listTaints  = `select ` + taintColumns + ` from taint
where resource > $1 and (resource = $2 or (resource >= $3 and resource < $4)) and (expires = 0 or expires > $5)
order by resource limit 200`
	clearTaints = `delete from taint where resource = $1 or (resource >= $2 and resource < $3) returning ` + taintColumns
)

// taints implement [store.Taints].
type taints struct{ *writer }

// Taint implements [store.Taints].
func (d *taints) Taint(ctx context.Context, t store.Taint, lim store.Limits) (merged store.Taint, err error) {
	if err := cmp.Or(ctx.Err(), t.Check()); err != nil {
		return store.Taint{}, err
	}
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
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
		var rows []record.Kept
		if known {
			rows = append(rows, keptTaint(&old))
		} else if err := roomForTaint(ctx, u); err != nil {
			return err
		}
		name := keptTaint(&store.Taint{Resource: store.ResourceName(t.Resource)})
		if err := u.settled(ctx, &name, rows); err != nil {
			return err
		}
		merged = old.Merge(t, u.steady(), lim)
		text, err := formatLabel(merged.Label)
		if err != nil {
			return err
		}
		_, err = u.change(ctx, writeTaint, merged.Resource, text, micros(merged.Written), micros(merged.Expires))
		u.keep(keptTaint(&merged))
		return err
	}})
	if err != nil {
		return store.Taint{}, err
	}
	return merged, nil
}

func roomForTaint(ctx context.Context, u *unit) error {
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
func (d *taints) Tainted(ctx context.Context, resource string, lim store.Limits) (label.Label, error) {
	if err := ctx.Err(); err != nil {
		return label.Label{}, err
	}
	found, err := d.taintsAround(ctx, resource)
	if err != nil {
		return label.Label{}, err
	}
	slices.SortFunc(found, func(a, b store.Taint) int { return strings.Compare(a.Resource, b.Resource) })
	var l label.Label
	for _, t := range found {
		l = lim.Join(l, t.Label)
	}
	return l, nil
}

// taintsAround returns the taints that have not expired of a resource, of those that contain it and of those that it
// contains. They are as the log proves, and none is missing.
func (d *taints) taintsAround(ctx context.Context, resource string) ([]store.Taint, error) {
	resource = store.ResourceName(resource)
	var found []store.Taint
	var head *headRow
	known := false
	at, err := d.recall(ctx, func(m *recent) {
		found, known = m.taints.Get(resource)
		head = m.head
	})
	if err == nil && !known {
		err = d.proven(ctx, head, func(s *snapshot) (err error) {
			if found, err = d.taintsAt(ctx, s, resource); err == nil {
				head = &s.headRow
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if !known {
		d.remember(at, func(m *recent) {
			if m.head = head; len(found) <= maxAround {
				m.taints.Set(resource, found)
			}
		})
	}
	now := d.now()
	return slices.DeleteFunc(slices.Clone(found), func(t store.Taint) bool { return !t.Live(now) }), nil
}

// taintsAt returns the taints around a resource at a head, expired ones too as far as they are there.
func (d *taints) taintsAt(ctx context.Context, s *snapshot, resource string) (found []store.Taint, err error) {
	known := map[string]*proof{} // before the rows are read
	first, end := store.ResourceBelow(resource)
	chains, err := s.listed(ctx, audit.Listed+first, audit.Listed+end)
	if err != nil {
		return nil, err
	}
	above := store.ResourceAbove(resource)
	for _, name := range above {
		chains = append(chains, audit.Listed+name)
	}
	for _, chain := range chains {
		known[chain] = d.proofs.get(chain)
	}
	rows := map[string]store.Taint{}
	scan := func(r *sql.Rows) error {
		t, err := scanTaint(r)
		if rows[audit.Listed+t.Resource] = t; known[audit.Listed+t.Resource] == nil {
			chains = append(chains, audit.Listed+t.Resource) // of those that are not listed too
		}
		return err
	}
	err = cmp.Or(among(ctx, s.statements, taintsAbove, above, scan), s.query(ctx, taintsBelow, scan, first, end), s.load(ctx, chains...))
	if err != nil {
		return nil, err
	}
	slices.Sort(chains)
	for _, chain := range slices.Compact(chains) {
		t, there := rows[chain]
		if err := d.settled(ctx, s, taintClaim(strings.TrimPrefix(chain, audit.Listed), t, there, known[chain])); err != nil {
			return nil, err
		}
		if there {
			found = append(found, t)
		}
	}
	return found, nil
}

func taintClaim(resource string, t store.Taint, there bool, known *proof) claim {
	name := keptTaint(&store.Taint{Resource: resource})
	c := claim{name: &name, known: known}
	if there {
		c.rows = append(c.rows, keptTaint(&t))
	}
	return c
}

// span returns a resource's name and the range of the resources that it contains. "" contains all.
func span(resource string) (name, first, end string) {
	if resource == "" {
		return "", "", "\U0010ffff\U0010ffff"
	}
	first, end = store.ResourceBelow(resource)
	return store.ResourceName(resource), first, end
}

// Tainting implements [store.Taints].
func (d *taints) Tainting(ctx context.Context, resource string) iter.Seq2[store.Taint, error] {
	name, first, end := span(resource)
	return pages(ctx, pageSize, "", func(at string) ([]store.Taint, string, error) {
		var page []store.Taint
		err := d.reads.query(ctx, listTaints, func(rows *sql.Rows) error {
			t, err := scanTaint(rows)
			page, at = append(page, t), t.Resource
			return err
		}, at, name, first, end, micros(d.now()))
		return page, at, err
	})
}

// Clear implements [store.Taints].
func (d *taints) Clear(ctx context.Context, resource string) (n int64, err error) {
	name, first, end := span(resource)
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) (err error) {
		n = 0
		return u.read(ctx, clearTaints, func(rows *sql.Rows) error {
			t, err := scanTaint(rows)
			k := keptTaint(&t)
			u.keep(k.Left("cleared"))
			u.wrote = true
			n++
			return err
		}, name, first, end)
	}})
	return n, err
}
