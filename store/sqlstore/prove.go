package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	readChain = `select name, id, next, last from chain where name = $1`

	// readEnd reads the end of a chain, backwards. The chain's index has the order.
	readEnd = `select ` + rowColumns + ` from entry where chain = $1 order by seq desc limit $2`

	readErasures = `select ` + rowColumns + ` from entry where kind = 'erase' and kind <> 'decision' and seq > $1 order by seq`
)

// prove returns what a chain proves, of which something may be known; nil if the log has no such chain. The links of all that it
// reads are checked. It wants a transaction, so that chain and row are of one moment. Damage is an error that wraps
// [audit.ErrDamaged]. Unless the whole chain is wanted, it reads the last entry alone of one that it does not know.
func prove(ctx context.Context, s *statements, chain string, known *proof, whole bool) (*proof, error) {
	var link audit.Link
	err := s.query(ctx, readChain, func(rows *sql.Rows) (err error) {
		link, err = scanLink(rows)
		return err
	}, chain)
	if err != nil {
		return nil, err
	}
	if link.Next == 0 {
		return nil, nil
	}
	if known == nil || known.next > link.Next {
		known = &proof{rows: map[string]record.Kept{}}
		if !whole {
			known.next, known.loose = link.Next-1, true
		}
	}
	if known.next == link.Next {
		if known.last != link.Last {
			return nil, fmt.Errorf("%w: the end of its chain is another", audit.ErrDamaged)
		}
		return known, nil
	}
	var added []audit.Row
	err = s.query(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		added = append(added, r)
		return err
	}, chain, link.Next-known.next)
	if err != nil {
		return nil, err
	}
	for i := len(added) - 1; i >= 0; i-- {
		if known, err = known.follow(&added[i]); err != nil {
			return nil, err
		}
	}
	if known.next != link.Next || known.last != link.Last {
		return nil, fmt.Errorf("%w: its chain ends at number %d, not %d", audit.ErrDamaged, known.next-1, link.Next-1)
	}
	return known, nil
}

// follow returns the proof with the next entry of the chain.
func (p *proof) follow(r *audit.Row) (*proof, error) {
	leaf, err := r.Check()
	switch {
	case err != nil:
		return nil, fmt.Errorf("entry %d: %w", r.Seq, err)
	case leaf.Pos != p.next, leaf.Prev != p.last && !p.loose:
		return nil, fmt.Errorf("entry %d: %w: it does not follow the one before it in its chain", r.Seq, audit.ErrDamaged)
	}
	k := record.Kept{}
	if k, err = record.ParseState(r.Body); err != nil {
		return nil, fmt.Errorf("entry %d: %w: %w", r.Seq, audit.ErrDamaged, err)
	}
	p.rows[k.Key] = k
	return &proof{next: leaf.Pos + 1, seq: r.Seq, at: micros(r.Time), last: tlog.RecordHash(r.Leaf), rows: p.rows}, nil
}

// A claim is rows as they were read: all of a chain.
type claim struct {
	name    *record.Kept  // the row, or where it would be
	rows    []record.Kept // those that are there
	known   *proof        // of the chain, before the transaction began
	pending []record.Kept // what the transaction itself has changed of the chain
}

// settled compares rows with what their chain proves, in the transaction in which they were read.
func (d *DB) settled(ctx context.Context, s *statements, c claim) error {
	name, rows, known, pending := c.name, c.rows, c.known, c.pending
	chain := name.Chain()
	now, err := prove(ctx, s, chain, known.copy(), name.Table == record.QuestionTable)
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return d.damage(name, -1, err.Error())
	case err != nil:
		return err
	case now == nil && known == nil && len(pending) > 0:
		now = &proof{rows: map[string]record.Kept{}}
	case now == nil && known != nil:
		return d.settledErased(ctx, s, c)
	case now == nil && len(rows) > 0:
		return d.damage(&rows[0], -1, "nothing in the log tells of it")
	case now == nil:
		return nil
	case known != nil && known.next > now.next:
		return d.damage(name, known.seq, "its chain was longer")
	}
	if len(pending) > 0 {
		now = now.copy()
		for i := range pending {
			now.rows[pending[i].Key] = pending[i]
		}
		return d.compare(now, rows)
	}
	if err := d.compare(now, rows); err != nil {
		return err
	}
	d.proofs.put(chain, now)
	return nil
}

// copy returns a proof that may be extended.
func (p *proof) copy() *proof {
	if p == nil {
		return nil
	}
	c := *p
	c.rows = make(map[string]record.Kept, len(p.rows)+1)
	for key, row := range p.rows {
		c.rows[key] = row
	}
	return &c
}

// compare compares the rows that are there with those of the proof. What has expired may be there or not.
func (d *DB) compare(now *proof, rows []record.Kept) error {
	there := make(map[string]bool, len(rows))
	for i := range rows {
		row := &rows[i]
		there[row.Key] = true
		proved, ok := now.rows[row.Key]
		switch {
		case !ok:
			return d.damage(row, now.seq, "nothing in the log tells of it")
		case proved.Gone != "":
			return d.damage(row, now.seq, "it was removed, and is there again")
		case !proved.Same(row):
			return d.damage(row, now.seq, "it is not as it was written last")
		}
	}
	expired, at := micros(d.latest.At(d.clock())), micros(d.steady.At(d.opts.Now()))
	for key := range now.rows {
		proved := now.rows[key]
		if proved.Table == record.QuestionTable {
			at = expired
		}
		if !there[key] && proved.Live(at) {
			return d.damage(&proved, now.seq, "it is missing")
		}
	}
	return nil
}

// settledErased is settled for a chain that was there: a person may have had it erased, with the row, which the log tells of.
func (d *DB) settledErased(ctx context.Context, s *statements, c claim) error {
	if len(c.rows) > 0 {
		return d.damage(&c.rows[0], c.known.seq, "its chain is missing")
	}
	erased := false
	err := s.query(ctx, readErasures, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		erased = erased || Removed(&r).Has(c.known.seq)
		return nil
	}, c.known.seq)
	switch {
	case err != nil:
		return err
	case !erased:
		return d.damage(c.name, c.known.seq, "it and its chain are missing")
	}
	d.proofs.forget(c.name.Chain())
	return nil
}

// Removed returns the numbers of the entries that an entry says were erased: none, if it is no event of that.
func Removed(r *audit.Row) record.Ranges {
	var e struct{ Binding string }
	if r.Kind != string(record.Erase) || json.Unmarshal(r.Body, &e) != nil {
		return nil
	}
	named, err := record.ParseRanges(e.Binding)
	if err != nil {
		return nil
	}
	return named
}

// still calls read in a transaction that reads, with all as it is at one time.
func (d *DB) still(ctx context.Context, read func(*statements) error) error {
	c, err := d.beginReading(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	reads := &statements{db: c, prepared: map[string]*sql.Stmt{}}
	err = read(reads)
	_, end := c.ExecContext(context.WithoutCancel(ctx), "rollback")
	return errors.Join(err, reads.close(), end)
}

// settled compares rows that the transaction has read with the log; see [DB.settled].
func (u *unit) settled(ctx context.Context, name *record.Kept, rows []record.Kept) error {
	c := claim{name: name, rows: rows, known: u.db.proofs.get(name.Chain())}
	for i := range u.journaled {
		if u.journaled[i].Chain() == name.Chain() {
			c.pending = append(c.pending, u.journaled[i])
		}
	}
	return u.db.settled(ctx, u.statements, c)
}

// provenSession returns a session that is as the log proves.
func (d *DB) provenSession(ctx context.Context, key string) (s store.Session, ok bool, err error) {
	name := keptSession(&store.Session{Key: key})
	known := d.proofs.get(name.Chain())
	err = d.still(ctx, func(reads *statements) error {
		var rows []record.Kept
		err := reads.query(ctx, readSession, func(r *sql.Rows) error {
			row, _, err := scanSession(r)
			s, ok = row.Session, true
			rows = append(rows, keptSession(&s))
			return err
		}, key)
		if err != nil {
			return err
		}
		return d.settled(ctx, reads, claim{name: &name, rows: rows, known: known})
	})
	return s, ok && err == nil, err
}

// check compares sessions of the draft with the log, and remembers those that are not as it proves.
func (u *unit) check(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if _, known := u.proven[key]; known || u.damaged[key] != nil {
			continue
		}
		var rows []record.Kept
		name := keptSession(&store.Session{Key: key})
		if s, ok := u.draft.Get(key); ok {
			if k := keptSession(&s); u.db.proofs.has(&k, u.next[key]) {
				u.proven[key] = k
				continue
			}
			rows = append(rows, keptSession(&s))
		}
		err := u.settled(ctx, &name, rows)
		switch {
		case errors.Is(err, store.ErrState):
			u.damaged[key] = err
		case err != nil:
			return err
		case len(rows) > 0:
			u.proven[key] = rows[0]
		}
	}
	return nil
}

// sound returns the damage of the sessions or of their ancestors.
func (u *unit) sound(keys ...string) error {
	for _, key := range keys {
		for key != "" {
			if err := u.damaged[key]; err != nil {
				return err
			}
			s, ok := u.draft.Get(key)
			if !ok {
				break
			}
			key = s.Parent
		}
	}
	return nil
}

// Holds reports whether an entry of the state, which the caller has checked, is needed as a proof: a row is there that its chain is named
// after, or should be there by what the chain ends with. So is each of a chain that is damaged.
func (d *DB) Holds(ctx context.Context, r *audit.Row) (holds bool, err error) {
	k, err := record.ParseState(r.Body)
	text, ok := holders[k.Table]
	if err != nil || !ok {
		return true, nil // it should not be there, and stays for who looks
	}
	key, now := k.Key, micros(d.steady.At(d.opts.Now()))
	if k.Table == record.QuestionTable {
		key, now = k.Binding, micros(d.clock())
	}
	err = d.reads.query(ctx, text, func(*sql.Rows) error { holds = true; return nil }, key)
	if err != nil || holds {
		return true, err
	}
	if k.Table == record.QuestionTable { // each event says when it expires
		return k.Live(now), nil
	}
	var end *proof
	err = d.still(ctx, func(s *statements) (err error) {
		end, err = prove(ctx, s, k.Chain(), nil, false)
		return err
	})
	if errors.Is(err, audit.ErrDamaged) || err == nil && end == nil {
		return true, nil
	} else if err != nil {
		return true, err
	}
	k = end.rows[k.Key]
	return k.Live(now), nil
}

// holders find rows by what their chains are named after.
var holders = map[string]string{
	record.SessionTable:  `select 1 from session where key = $1`,
	record.TaintTable:    `select 1 from taint where resource = $1`,
	record.QuestionTable: `select 1 from question where binding = $1 limit 1`,
}
