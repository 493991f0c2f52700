package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/audit"
)

// An appender is the end of the log in a write transaction. Its snapshot is as the transaction leaves it.
type appender struct {
	snapshot
	anchor   *audit.Anchor // nil: a sealed log is not extended
	bodies   *packer
	proofs   *proofs      // may know where chains end
	batch    *audit.Batch // the appended rows; nil if there are none
	before   audit.Head   // that the transaction extends
	closed   bool         // the ends of the chains are others, so an entry has to tell of it
	enlisted []string     // listed chains that begin
}

const (
	writeState  = `update state set size = $1, edge = $2, sealed = $3, present = $4, ends = $5 where id = 1`
	readChains  = `select name, id, next, last from chain where name in %s`
	writeChains = `insert into chain (name, id, next, last) values %s
on conflict (name) do update set id = excluded.id, next = excluded.next, last = excluded.last`
	writeRows    = `insert into entry (seq, leaf, salt, time, chain, kind, subject, outcome, body) values %s`
	writeNodes   = `insert into node (level, n, hash) values %s`
	writeEndings = `insert into ending (n, body) values %s on conflict (n) do update set body = excluded.body`
	writeAsides  = `insert into aside (seq, time, body) values %s`
	closeChain   = `update chain set name = id where name = $1`
)

// append gives the entries their places and writes them.
func (a *appender) append(ctx context.Context, entries []audit.Entry) error {
	links, err := a.links(ctx, entries)
	if err != nil {
		return err
	}
	if a.anchor == nil {
		if err := audit.CheckHead(ctx, nil, nil, a.head); err != nil {
			return err
		}
	}
	if a.batch, err = audit.Sequence(a.head, links, entries); err != nil {
		return err
	}
	a.head = a.batch.Head
	rows := make([]any, 0, len(a.batch.Rows)*9)
	var asides []any
	for i := range a.batch.Rows {
		r := &a.batch.Rows[i]
		if r.Aside != nil {
			asides = append(asides, r.Seq, micros(r.Time), r.Aside)
		}
		rows = append(rows, r.Seq, r.Leaf, r.Salt, micros(r.Time), r.Chain, r.Kind, r.Subject, r.Outcome, a.bodies.pack(r.Body, r.Chain))
	}
	if err := a.insert(ctx, writeRows, 9, rows); err != nil {
		return err
	}
	if err := a.insert(ctx, writeAsides, 3, asides); err != nil {
		return err
	}
	var nodes []any
	for _, n := range a.batch.Nodes {
		nodes = append(nodes, n.Level, n.N, n.Hash[:])
	}
	if err := a.insert(ctx, writeNodes, 3, nodes); err != nil {
		return err
	}
	ends := make([]any, 0, len(a.batch.Links)*4)
	for _, l := range a.batch.Links {
		ends = append(ends, l.Name, l.ID.String(), l.Next, l.Last[:])
		if err := a.ends.SetEnd(l); err != nil {
			return err
		}
	}
	if err := a.insert(ctx, writeChains, 4, ends); err != nil {
		return err
	}
	return a.commitEnds(ctx)
}

// links reads the ends of the entries' chains, and checks that the head commits to them. Chains that begin are listed.
func (a *appender) links(ctx context.Context, entries []audit.Entry) (map[string]*audit.Link, error) {
	links, named := map[string]*audit.Link{}, map[string]bool{}
	var names []string
	for _, e := range entries {
		if !named[e.Chain] {
			named[e.Chain] = true
			names = append(names, e.Chain)
		}
	}
	if err := a.load(ctx, names...); err != nil {
		return nil, err
	}
	unknown := names[:0]
	for _, name := range names {
		ok, err := a.known(name, links)
		if err != nil {
			return nil, err
		}
		if !ok {
			unknown = append(unknown, name)
		}
	}
	err := among(ctx, a.statements, readChains, unknown, func(rows *sql.Rows) error {
		l, err := scanLink(rows)
		if links[l.Name] = &l; errors.Is(err, audit.ErrDamaged) {
			return nil // it is looked for in the log
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range unknown {
		none, err := a.ends.HasNone(name)
		switch {
		case err != nil:
			return nil, err
		case none:
			delete(links, name)
			if err := a.enlist(ctx, name); err != nil {
				return nil, err
			}
		case links[name] == nil:
			links[name] = &audit.Link{}
			fallthrough
		default:
			if links[name], err = a.linked(ctx, name, *links[name]); err != nil {
				return nil, err
			}
		}
	}
	return links, nil
}

// known finds the end of a chain among the proofs, if the head commits to it.
func (a *appender) known(name string, links map[string]*audit.Link) (ok bool, err error) {
	end := a.proofs.get(name).end()
	if end == nil {
		return false, nil
	}
	if ok, err = a.ends.HasEnd(end); ok {
		link := *end
		links[name] = &link
	}
	return ok, err
}

// enlist lists a chain that begins.
func (a *appender) enlist(ctx context.Context, name string) error {
	if !strings.HasPrefix(name, audit.Listed) {
		return nil
	}
	before, after, err := a.around(ctx, name)
	if err != nil {
		return err
	}
	a.enlisted = append(a.enlisted, name)
	return a.ends.Enlist(name, before, after)
}

// around returns the listed chains before and after one, those that begin in the transaction too.
func (a *appender) around(ctx context.Context, name string) (before, after string, err error) {
	scan := func(rows *sql.Rows) error { return rows.Scan(&before, &after) }
	err = a.statements.query(ctx, readAround, scan, audit.Listed, name, audit.ListedStart, listedEnd)
	for _, other := range a.enlisted {
		if other < name {
			before = max(before, other)
		} else if after == "" || other < after {
			after = other
		}
	}
	return before, after, cmp.Or(err, a.load(ctx, before, name, after))
}

// commitEnds writes the changed nodes of the ends of the chains, and seals the head with them.
func (a *appender) commitEnds(ctx context.Context) error {
	var nodes []any
	for _, n := range a.ends.Commit() {
		nodes = append(nodes, n.N, notNil(n.Body))
	}
	if a.head.Ends = a.ends.Hash(); a.anchor != nil {
		a.head.Seal = a.anchor.Seal(a.head)
	}
	return a.insert(ctx, writeEndings, 2, nodes)
}

// writeState writes the row of the table state.
func (a *appender) writeState(ctx context.Context) error {
	_, err := a.statements.exec(ctx, writeState, a.head.Size, a.head.EdgeBytes(), notNil(a.head.Seal), a.sessions, notNil(a.ends.RootNode()))
	return err
}

// closeChain closes a chain: its name is replaced by its id.
func (a *appender) closeChain(ctx context.Context, name string) (err error) {
	before, after := "", ""
	if strings.HasPrefix(name, audit.Listed) {
		if before, after, err = a.around(ctx, name); err != nil {
			return err
		}
	}
	if err := a.ends.Close(name, before, after); err != nil {
		return err
	}
	a.closed = true
	_, err = a.exec(ctx, closeChain, name)
	return err
}

const readLeaf = `select leaf from entry where seq = $1`

// in reports whether a log with this head has the entries of the transaction. One that appended none is in no log.
func (a *appender) in(ctx context.Context, s *statements, head audit.Head) (landed bool, err error) {
	if a.batch == nil || head.Size <= a.head.Size {
		return a.batch != nil && head.Equal(a.head), nil
	}
	row := &a.batch.Rows[0]
	err = s.query(ctx, readLeaf, func(rows *sql.Rows) error {
		var leaf []byte
		err := rows.Scan(&leaf)
		landed = bytes.Equal(leaf, row.Leaf)
		return err
	}, row.Seq)
	return landed, err
}
