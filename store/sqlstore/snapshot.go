package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
)

// A snapshot is the database at a head of its log, which was checked. What is read otherwise may be older or newer: it counts if the
// head commits to it.
type snapshot struct {
	*statements
	headRow
	ends *audit.Ends
}

// A headRow is the row of the table state.
type headRow struct {
	head     audit.Head
	root     []byte // of the ends of the chains
	sessions int64
	found    bool
}

const (
	stateColumns = `t.size, t.edge, t.sealed, t.sessions, t.ends`
	readState    = `select ` + stateColumns + ` from state t where t.id = 1`

	readChain  = `select name, id, next, last from chain where name = $1`
	readEnding = `select n, body from ending where n in %s`

	// readEnd reads the end of a chain, backwards. The chain's index has the order.
	readEnd = `select ` + rowColumns + ` from entry where chain = $1 order by seq desc limit $2`

	// readAround reads the chains before and after a listed one.
	readAround = `select coalesce((select name from chain where name >= $1 and name < $2 order by name desc limit 1), $3),
	coalesce((select name from chain where name > $2 and name < $4 order by name limit 1), '')`

	// readListed reads the listed chains from a name up to another, and the ones before and after.
	readListed = `select name from chain where name >= $2 and name < $3
union select max(name) from chain where name >= $1 and name < $2 union select min(name) from chain where name >= $3 and name < $4 order by 1`

	listedEnd = audit.ListedStart + "0" // '0' follows '/'
)

// scan reads the columns of the state, and others after them.
func (r *headRow) scan(rows *sql.Rows, more ...any) (err error) {
	var size int64
	var edge, sealed []byte
	if err := rows.Scan(append([]any{&size, &edge, &sealed, &r.sessions, &r.root}, more...)...); err != nil {
		return err
	}
	r.head, err = audit.MakeHead(size, edge)
	r.head.Seal, r.head.Ends, r.found = sealed, audit.NewEnds(r.root, nil).Hash(), true
	return err
}

// missing returns the error of a head that is not there.
func (r *headRow) missing(err error) error {
	if err == nil && !r.found {
		err = fmt.Errorf("%w: it has no head", audit.ErrDamaged)
	}
	return err
}

// readHead reads the row of the table state.
func readHead(ctx context.Context, s *statements, lock string) (r headRow, err error) {
	err = s.query(ctx, readState+lock, func(rows *sql.Rows) error { return r.scan(rows) })
	return r, r.missing(err)
}

func (d *DB) snapshot(s *statements, r headRow) *snapshot {
	return &snapshot{statements: s, headRow: r, ends: audit.NewEnds(r.root, &d.endCache)}
}

// since returns a check of heads that are read from now on, by these statements: see [audit.Anchor.Since]. What passes is not undone later.
func (d *DB) since() (func(context.Context, *statements, audit.Head) error, error) {
	anchor := d.anchor.Load()
	if anchor == nil {
		return func(context.Context, *statements, audit.Head) error { return nil }, nil
	}
	check, err := anchor.Since()
	if err != nil {
		return nil, d.health.note(err)
	}
	return func(ctx context.Context, s *statements, h audit.Head) error {
		err := d.checkSealed(h)
		if err == nil {
			err = check(ctx, lasting(d, s), h)
		}
		if err != nil {
			err = d.health.note(err)
		}
		return err
	}, nil
}

// lasting returns the log as statements read it. It is none without syncing: a log may be shorter again after the machine failed.
func lasting(d *DB, s *statements) audit.Storage {
	if d.opts.Unsynced {
		return nil
	}
	return &Log{db: d, reads: s, fixed: true}
}

// proven calls read with a snapshot. What read finds does not fit together if others write meanwhile: then it is called again, in a
// transaction that reads.
func (d *DB) proven(ctx context.Context, read func(*snapshot) error) error {
	check, err := d.since()
	if err != nil {
		return err
	}
	r, err := readHead(ctx, &d.reads, "")
	if err == nil {
		if err := check(ctx, &d.reads, r.head); err != nil {
			return err
		}
		err = read(d.snapshot(&d.reads, r))
	}
	if !unsettled(err) {
		return err
	}
	return d.still(ctx, read)
}

// unsettled reports whether it is an error of rows that may be of different times.
func unsettled(err error) bool {
	return errors.As(err, new(*doubt)) || errors.Is(err, audit.ErrDamaged)
}

// still calls read in a transaction that reads, with all as it is at one head. A doubt is damage then.
func (d *DB) still(ctx context.Context, read func(*snapshot) error) error {
	check, err := d.since()
	if err != nil {
		return err
	}
	c, err := d.beginReading(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	reads := &statements{db: c, prepared: map[string]*sql.Stmt{}}
	r, err := readHead(ctx, reads, "")
	if err == nil {
		err = check(ctx, reads, r.head)
	}
	if err == nil {
		err = read(d.snapshot(reads, r))
	}
	_, end := c.ExecContext(context.WithoutCancel(ctx), "rollback")
	return d.told(errors.Join(err, reads.close(), end))
}

// load reads the nodes of the ends that are needed for chains.
func (s *snapshot) load(ctx context.Context, chains ...string) error {
	for text, args := range batches(readEnding, s.ends.Missing(chains...)) {
		err := s.query(ctx, text, func(rows *sql.Rows) error {
			var n audit.EndNode
			err := rows.Scan(&n.N, &n.Body)
			s.ends.Add(n)
			return err
		}, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// ending returns the end of a chain to which the head commits; nil if there is no such chain. The row of the chain and the last entry of the
// log under its name only say which it may be. One may be known.
func (s *snapshot) ending(ctx context.Context, chain string, known *proof) (*audit.Link, error) {
	if err := s.load(ctx, chain); err != nil {
		return nil, err
	}
	if none, err := s.ends.HasNone(chain); err != nil || none {
		return nil, err
	}
	if known != nil {
		if ok, err := s.ends.HasEnd(&known.link); err != nil || ok {
			return &known.link, err
		}
	}
	var link audit.Link
	err := s.query(ctx, readChain, func(rows *sql.Rows) (err error) {
		link, err = scanLink(rows)
		return err
	}, chain)
	if err != nil && !errors.Is(err, audit.ErrDamaged) {
		return nil, err
	}
	return s.linked(ctx, chain, link)
}

// linked returns the end of a chain: as its row says, if the head commits to that, or as the log says.
func (s *snapshot) linked(ctx context.Context, chain string, link audit.Link) (*audit.Link, error) {
	if link.Name == chain {
		if ok, err := s.ends.HasEnd(&link); err != nil || ok {
			return &link, err
		}
	}
	err := s.query(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		leaf, err := r.Check()
		link = audit.Link{Name: chain, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(r.Leaf)}
		return err
	}, chain, 1)
	if err != nil {
		return nil, err
	}
	if ok, err := s.ends.HasEnd(&link); err != nil || ok {
		return &link, err
	}
	return nil, fmt.Errorf("%w: the end of the chain %.200q is missing or was changed", audit.ErrDamaged, chain)
}

// listed returns the listed chains from a name up to but without another. None is missing.
func (s *snapshot) listed(ctx context.Context, first, end string) ([]string, error) {
	var names []string
	err := s.query(ctx, readListed, func(rows *sql.Rows) error {
		var name sql.NullString
		err := rows.Scan(&name)
		if name.Valid {
			names = append(names, name.String)
		}
		return err
	}, audit.Listed, first, end, listedEnd)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 || names[0] >= first {
		names = slices.Insert(names, 0, audit.ListedStart)
	}
	if names[len(names)-1] < end {
		names = append(names, "")
	}
	last := len(names) - 1
	if err := s.load(ctx, names[:last]...); err != nil {
		return nil, err
	}
	for i, name := range names[:last] {
		if ok, err := s.ends.HasNext(name, names[i+1]); err != nil || !ok {
			return nil, errors.Join(err, fmt.Errorf("%w: a chain after %.200q is missing or was added", audit.ErrDamaged, name))
		}
	}
	return names[1:last], nil
}
