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

// A snapshot is the database at a head of its log, which was checked. Other rows may be older or newer: they count if
// the head commits to it.
type snapshot struct {
	*statements
	headRow
	ends *audit.Ends
}

const (
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

// load reads the nodes of the ends that are needed for chains.
func (s *snapshot) load(ctx context.Context, chains ...string) error {
	return among(ctx, s.statements, readEnding, s.ends.Missing(chains...), func(rows *sql.Rows) error {
		var n audit.EndNode
		err := rows.Scan(&n.N, &n.Body)
		s.ends.Add(n)
		return err
	})
}

// ending returns the end of a chain to which the head commits; nil if there is no such chain. The row of the chain and
// the last entry of the log under its name only say which it may be. One may be known.
func (s *snapshot) ending(ctx context.Context, chain string, known *audit.Link) (*audit.Link, error) {
	if err := s.load(ctx, chain); err != nil {
		return nil, err
	}
	if none, err := s.ends.HasNone(chain); err != nil || none {
		return nil, err
	}
	if known != nil {
		if ok, err := s.ends.HasEnd(known); err != nil || ok {
			return known, err
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
