package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A doubt is why a row may not be what the log proves: as it was read, in what may be no one state of the database, or as it is.
type doubt struct {
	row    record.Kept
	proved int64 // the number of the entry that proves it, or -1
	what   string
}

func (e *doubt) Error() string {
	return fmt.Sprintf("%s %.200q: %s", e.row.Table, e.row.Key, e.what)
}

func doubtful(row *record.Kept, proved int64, what string) error { return &doubt{*row, proved, what} }

// prove returns what a chain proves, of which something may be known; nil if the log has no such chain. The links of all that it
// reads are checked, from the end that the head commits to. Damage is an error that wraps [audit.ErrDamaged]. Unless the whole chain is
// wanted, it reads the last entry alone of one that it does not know.
func (s *snapshot) prove(ctx context.Context, chain string, known *proof, whole bool) (*proof, error) {
	if known != nil && known.seq >= s.head.Size {
		known = nil // it was proved at a later head
	}
	link, err := s.ending(ctx, chain, known)
	if err != nil || link == nil {
		return nil, err
	}
	if known != nil && known.link == *link {
		return known, nil
	}
	if known != nil && known.link.ID == link.ID && known.link.Next >= link.Next {
		return nil, fmt.Errorf("%w: its chain had %d entries, and has %d", audit.ErrDamaged, known.link.Next, link.Next)
	}
	if known == nil || known.link.ID != link.ID {
		known = &proof{link: audit.Link{Name: chain, ID: link.ID}, rows: map[string]record.Kept{}}
		if !whole {
			known.link.Next, known.loose = link.Next-1, true
		}
	}
	var added []audit.Row
	err = s.query(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		added = append(added, r)
		return err
	}, chain, link.Next-known.link.Next)
	if err != nil {
		return nil, err
	}
	known = known.copy()
	for i := len(added) - 1; i >= 0; i-- {
		if known, err = known.follow(&added[i]); err != nil {
			return nil, err
		}
	}
	if known.link != *link {
		return nil, fmt.Errorf("%w: its chain ends at number %d, not %d, or there with another entry", audit.ErrDamaged,
			known.link.Next-1, link.Next-1)
	}
	return known, nil
}

// follow returns the proof with the next entry of the chain.
func (p *proof) follow(r *audit.Row) (*proof, error) {
	leaf, err := r.Check()
	switch {
	case err != nil:
		return nil, fmt.Errorf("entry %d: %w", r.Seq, err)
	case leaf.Chain != p.link.ID, leaf.Pos != p.link.Next, leaf.Prev != p.link.Last && !p.loose:
		return nil, fmt.Errorf("entry %d: %w: it does not follow the one before it in its chain", r.Seq, audit.ErrDamaged)
	}
	k := record.Kept{}
	if k, err = record.ParseState(r.Body); err != nil {
		return nil, fmt.Errorf("entry %d: %w: %w", r.Seq, audit.ErrDamaged, err)
	}
	p.rows[k.Key] = k
	link := audit.Link{Name: p.link.Name, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(r.Leaf)}
	return &proof{link: link, seq: r.Seq, at: micros(r.Time), rows: p.rows}, nil
}

// A claim is rows as they were read: all of a chain.
type claim struct {
	name    *record.Kept  // the row, or where it would be
	rows    []record.Kept // those that are there
	known   *proof        // of the chain, before the head was read
	pending []record.Kept // what the transaction itself has changed of the chain
}

// settled compares rows with what their chain proves at the head. The error is a [doubt] if they differ.
func (d *DB) settled(ctx context.Context, s *snapshot, c claim) error {
	name, rows, pending := c.name, c.rows, c.pending
	chain := name.Chain()
	now, err := s.prove(ctx, chain, c.known, name.Table == record.QuestionTable)
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return doubtful(name, -1, err.Error())
	case err != nil:
		return err
	case now == nil && len(pending) > 0:
		now = &proof{rows: map[string]record.Kept{}}
	case now == nil && len(rows) > 0:
		return doubtful(&rows[0], -1, "nothing in the log tells of it")
	case now == nil:
		d.proofs.forget(chain)
		return nil
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
			return doubtful(row, now.seq, "nothing in the log tells of it")
		case proved.Gone != "":
			return doubtful(row, now.seq, "it was removed, and is there again")
		case !proved.Same(row):
			return doubtful(row, now.seq, "it is not as it was written last")
		}
	}
	expired, at := micros(d.latest.At(d.clock())), micros(d.steady.At(d.opts.Now()))
	for key := range now.rows {
		proved := now.rows[key]
		if proved.Table == record.QuestionTable {
			at = expired
		}
		if !there[key] && proved.Live(at) {
			return doubtful(&proved, now.seq, "it is missing")
		}
	}
	return nil
}

// settled compares rows that the transaction has read with the log; see [DB.settled]. Damage is an [ErrState].
func (u *unit) settled(ctx context.Context, name *record.Kept, rows []record.Kept) error {
	c := claim{name: name, rows: rows, known: u.db.proofs.get(name.Chain())}
	for i := range u.journaled {
		if u.journaled[i].Chain() == name.Chain() {
			c.pending = append(c.pending, u.journaled[i])
		}
	}
	return u.db.told(u.db.settled(ctx, &u.snapshot, c))
}

// told returns the error, as an [ErrState] if something is damaged.
func (d *DB) told(err error) error {
	var sure *doubt
	if errors.As(err, &sure) {
		return d.damage(&sure.row, sure.proved, sure.what)
	}
	if !errors.Is(err, audit.ErrDamaged) || errors.Is(err, store.ErrState) || errors.Is(err, ErrFailing) {
		return err
	}
	err = fmt.Errorf("%w: %w", ErrState, err)
	d.refusals.add(err.Error(), err)
	if d.proofs.tell(err.Error()) && d.opts.Damaged != nil {
		d.opts.Damaged(err)
	}
	return err
}

// provenSession compares a session, or that there is none, with the log, in a transaction that reads.
func (d *DB) provenSession(ctx context.Context, key string) (r recentSession, err error) {
	err = d.still(ctx, func(s *snapshot) error {
		r = recentSession{}
		if err := s.query(ctx, readSession, r.scan, key); err != nil {
			return err
		}
		r.Key = key
		return d.settled(ctx, s, d.claimOf(key, &r))
	})
	return r, err
}

func (d *DB) claimOf(key string, r *recentSession) claim {
	name := keptSession(&store.Session{Key: key})
	c := claim{name: &name, known: d.proofs.get(name.Chain())}
	if r.there {
		c.rows = []record.Kept{keptSession(&r.Session)}
	}
	return c
}

// check compares sessions of the draft with the log, and remembers those that are not as it proves.
func (u *unit) check(ctx context.Context, keys ...string) error {
	chains := make([]string, len(keys))
	for i, key := range keys {
		name := keptSession(&store.Session{Key: key})
		chains[i] = name.Chain()
	}
	if err := u.load(ctx, chains...); err != nil {
		return err
	}
	for _, key := range keys {
		if _, known := u.proven[key]; known || u.damaged[key] != nil {
			continue
		}
		var rows []record.Kept
		name := keptSession(&store.Session{Key: key})
		if s, ok := u.draft.Get(key); ok {
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
	err = d.still(ctx, func(s *snapshot) (err error) {
		end, err = s.prove(ctx, k.Chain(), nil, false)
		return err
	})
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return true, nil
	case err != nil:
		return true, err
	case end == nil: // a newer entry was erased
		return false, nil
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
