package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

// commitToEnds has the head commit to the ends of the chains, if it does not: an older version wrote it.
func (d *repair) commitToEnds(ctx context.Context) error {
	head, err := (&logReader{&d.scans}).Head(ctx)
	if err != nil || head.Size == 0 || head.Ends != (tlog.Hash{}) && (len(head.Seal) > 0 || d.opts.Anchor == nil) {
		return err
	}
	_, err = d.RebuildEnds(ctx)
	return err
}

// RebuildEnds writes the ends of the chains, and the nodes by which the head commits to them, as the log has them, and
// returns how many there were not. Each entry is checked. If the head commits to other ends, or the log is damaged, the
// error is [audit.ErrDamaged].
func (d *repair) RebuildEnds(ctx context.Context) (changed int, err error) {
	w := &chainWalk{chains: map[audit.ID]*walked{}}
	if err := w.read(ctx, &d.scans, math.MaxInt64); err != nil {
		return 0, fmt.Errorf("reading the chains of the log: %w", err)
	}
	o := &op{alone: true}
	o.run = func(ctx context.Context, u *unit) error {
		o.entries = nil
		err := w.read(ctx, u.statements, u.head.Size)
		if err != nil {
			return err
		}
		r := resealing{u}
		if changed, err = r.rewrite(ctx, w); err == nil && u.closed {
			o.entries, err = r.entries()
		}
		return u.fail(err)
	}
	if err := d.do(ctx, o); err != nil {
		return 0, fmt.Errorf("writing the ends of the chains: %w", err)
	}
	return changed, nil
}

// A resealing rewrites the ends of the chains, in a write transaction.
type resealing struct{ *unit }

// entries returns the entry that tells that the head commits to the ends of the chains from then on.
func (u *resealing) entries() ([]audit.Entry, error) {
	e := record.New(record.Restore, u.now())
	e.Effect, e.Rule, e.Message = resealed, "upgrade", "the end of the log commits to the ends of its chains from here on"
	body, err := u.prover.encoder.Encode(e)
	return []audit.Entry{{Time: e.Time, Kind: string(e.Kind), Outcome: resealed, Body: body}}, err
}

// resealed is the outcome of the entry that comes with other ends of chains.
const resealed = "resealed"

// A chainWalk is the chains of a log, as far as it was read.
type chainWalk struct {
	tree   audit.Head
	chains map[audit.ID]*walked
}

// A walked is a chain with its name, if an entry that is not erased has it.
type walked struct {
	audit.Link
	erased bool // its last entry is
}

const readRowsFrom = `select ` + rowColumns + ` from entry where seq >= $1 and seq < $2 order by seq limit 500`

// read reads the entries that follow, up to but without one.
func (w *chainWalk) read(ctx context.Context, s *statements, to int64) error {
	for {
		n := 0
		err := s.query(ctx, readRowsFrom, func(rows *sql.Rows) error {
			n++
			r, err := scanRow(rows)
			if err != nil {
				return err
			}
			return w.add(&r)
		}, w.tree.Size, to)
		if err != nil || n < rowPage {
			return err
		}
	}
}

func (w *chainWalk) add(r *audit.Row) error {
	leaf, err := r.Check()
	if err != nil {
		return fmt.Errorf("entry %d: %w", r.Seq, err)
	}
	c := w.chains[leaf.Chain]
	if c == nil {
		c = &walked{Link: audit.Link{ID: leaf.Chain}}
		w.chains[leaf.Chain] = c
	}
	if r.Seq != w.tree.Size || leaf.Pos != c.Next || leaf.Prev != c.Last {
		return fmt.Errorf("%w: entry %d does not follow", audit.ErrDamaged, r.Seq)
	}
	c.Last, c.erased = w.tree.Push(r.Leaf), r.Erased()
	if c.Next++; !c.erased {
		c.Name = r.Chain
	}
	return nil
}

// links returns all chains, and those that are open.
func (w *chainWalk) links() (all map[string]audit.Link, open []audit.Link) {
	all = map[string]audit.Link{}
	for id, c := range w.chains {
		l := c.Link
		if l.Name = id.String(); !c.erased {
			l.Name = c.Name
			open = append(open, l)
		}
		all[l.Name] = l
	}
	return all, open
}

const (
	readAllChains  = `select name, id, next, last from chain`
	removeChains   = `delete from chain`
	readAllEndings = `select n, body from ending`
)

// rewrite has the tables of the chains and of the nodes agree with the log.
func (u *resealing) rewrite(ctx context.Context, w *chainWalk) (changed int, err error) {
	if !w.tree.Equal(u.head) {
		return 0, fmt.Errorf("%w: its %d entries are not those of its head", audit.ErrDamaged, u.head.Size)
	}
	all, open := w.links()
	ends, nodes, err := audit.EndsOf(open)
	switch {
	case err != nil:
		return 0, err
	case len(all) != len(w.chains):
		return 0, fmt.Errorf("%w: two chains have one name", audit.ErrDamaged)
	case len(u.head.Seal) > 0 && u.head.Ends != (tlog.Hash{}) && u.head.Ends != ends.Hash():
		return 0, fmt.Errorf("%w: the ends of its chains are not those of its head", audit.ErrDamaged)
	}
	chains, err := u.rewriteChains(ctx, all)
	if err != nil {
		return 0, err
	}
	endings, err := u.rewriteEndings(ctx, nodes)
	if err != nil {
		return 0, err
	}
	changed = chains + endings
	if u.ends.Hash() != ends.Hash() || u.anchor != nil && len(u.head.Seal) == 0 {
		u.ends, u.closed = ends, true
		changed++
	}
	return changed, nil
}

// rewriteChains makes the rows of the chains these, and returns how many were not.
func (u *resealing) rewriteChains(ctx context.Context, all map[string]audit.Link) (wrong int, err error) {
	todo, seen := maps.Clone(all), map[string]bool{}
	err = among(ctx, u.statements, readChains, slices.Collect(maps.Keys(all)), func(rows *sql.Rows) error {
		l, err := scanLink(rows)
		if seen[l.Name] = true; all[l.Name] == l {
			delete(todo, l.Name)
		}
		return undamaged(err)
	})
	if err != nil {
		return 0, err
	}
	var closed []string
	strays := 0
	err = u.read(ctx, readAllChains, func(rows *sql.Rows) error {
		l, err := scanLink(rows)
		_, named := all[l.Name]
		_, ended := all[l.ID.String()]
		switch {
		case seen[l.Name]:
			delete(seen, l.Name)
		case ended && !named:
			closed = append(closed, l.Name)
		default: // such as a name that is no text
			strays++
		}
		return undamaged(err)
	})
	if err == nil && strays > 0 {
		todo, closed = all, nil
		_, err = u.change(ctx, removeChains)
	}
	for i := 0; i < len(closed) && err == nil; i++ {
		_, err = u.change(ctx, closeChain, closed[i])
	}
	if err != nil || len(todo) == 0 {
		return len(closed), err
	}
	values := make([]any, 0, 4*len(todo))
	for _, l := range todo {
		values = append(values, l.Name, l.ID.String(), l.Next, l.Last[:])
	}
	u.wrote = true
	return len(todo), u.insert(ctx, writeChains, 4, values)
}

// undamaged leaves out that a row is damaged.
func undamaged(err error) error {
	if errors.Is(err, audit.ErrDamaged) {
		return nil
	}
	return err
}

// rewriteEndings makes the nodes these, and returns how many were not. One that should not be there becomes empty.
func (u *resealing) rewriteEndings(ctx context.Context, nodes []audit.EndNode) (wrong int, err error) {
	todo := map[int64][]byte{}
	for _, n := range nodes {
		todo[n.N] = n.Body
	}
	err = u.read(ctx, readAllEndings, func(rows *sql.Rows) error {
		var n int64
		var body []byte
		err := rows.Scan(&n, &body)
		if want := todo[n]; bytes.Equal(want, body) {
			delete(todo, n)
		} else if want == nil {
			todo[n] = []byte{}
		}
		return err
	})
	if err != nil || len(todo) == 0 {
		return 0, err
	}
	values := make([]any, 0, 2*len(todo))
	for n, body := range todo {
		values = append(values, n, body)
	}
	u.wrote = true
	return len(todo), u.insert(ctx, writeEndings, 2, values)
}
