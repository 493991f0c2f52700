package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

var (
	_ audit.Store     = (*Log)(nil)
	_ audit.Counted   = (*Log)(nil)
	_ audit.Committed = (*Log)(nil)
)

// A Log is the log in a database.
type Log struct {
	logReader
	writer *writer // nil: a snapshot
}

// do runs an op on the log.
func (l *Log) do(ctx context.Context, o *op) error {
	if l.writer == nil {
		return errSnapshot
	}
	return l.writer.do(ctx, o)
}

// Snapshot implements [audit.Steady], by a transaction that reads.
func (l *Log) Snapshot(ctx context.Context, read func(audit.Store) error) error {
	if l.writer == nil {
		return read(l)
	}
	return l.writer.inSnapshot(ctx, func(reads *statements) error { return read(&Log{logReader: logReader{reads}}) })
}

// Append implements [audit.Storage].
func (l *Log) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if err := check(entries); err != nil {
		return 0, err
	}
	o := &op{entries: entries}
	err := l.do(ctx, o)
	return o.first, err
}

const (
	newCheckpoints  = `select size, note from checkpoint where size >= $1`
	writeCheckpoint = `insert into checkpoint (size, note) values ($1, $2) on conflict (size) do update set note = excluded.note`
)

// SealWith implements [audit.Signed].
func (l *Log) SealWith(a *audit.Anchor) {
	if l.writer != nil {
		l.writer.anchor.Store(a)
	}
}

// AddCheckpoint implements [audit.Signed].
func (l *Log) AddCheckpoint(ctx context.Context, c, last audit.Checkpoint) error {
	return l.do(ctx, &op{alone: true, synced: true, run: func(ctx context.Context, u *unit) error {
		err := u.read(ctx, newCheckpoints, func(rows *sql.Rows) error {
			var there audit.Checkpoint
			if err := rows.Scan(&there.Size, &there.Note); err != nil {
				return err
			}
			if there.Size != last.Size || !bytes.Equal(there.Note, last.Note) {
				return audit.ErrConflict
			}
			return nil
		}, last.Size)
		if err == nil {
			_, err = u.change(ctx, writeCheckpoint, c.Size, c.Note)
		}
		return err
	}})
}

const (
	readKept   = `select ` + rowColumns + ` from entry where length(salt) > 0 and seq in %s`
	removeRows = `delete from entry where length(salt) > 0 and seq in %s`

	removeAsides = `delete from aside where seq in %s`
)

// Erase implements [audit.Erasable], in one transaction: give it some thousands of numbers at most.
func (l *Log) Erase(ctx context.Context, seqs []int64, note func(int64) audit.Entry) (erased int64, err error) {
	o := &op{alone: true}
	o.run = func(ctx context.Context, u *unit) (err error) {
		o.entries = nil
		erased, err = (&erasure{u}).erase(ctx, seqs)
		if err != nil || erased == 0 {
			return err
		}
		o.entries = []audit.Entry{note(erased)}
		if u.failed = check(o.entries); u.failed != nil {
			return u.failed
		}
		return nil
	}
	if err := l.do(ctx, o); err != nil {
		return 0, err
	}
	return erased, nil
}

// An erasure removes entries from the log, in a write transaction.
type erasure struct{ *unit }

// erase erases entries, their asides, and the names of the chains that end with one of them.
func (u *erasure) erase(ctx context.Context, seqs []int64) (int64, error) {
	chains, hashes := map[string]bool{}, map[tlog.Hash]bool{}
	var left []any
	err := u.fail(among(ctx, u.statements, readKept, seqs, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		if _, err := r.Check(); err != nil { // else another entry could end its chain here
			return fmt.Errorf("entry %d: %w", r.Seq, err)
		}
		left = append(left, r.Seq, r.Leaf, []byte{}, 0, "", "", "", "", []byte{})
		chains[r.Chain], hashes[tlog.RecordHash(r.Leaf)] = true, true
		return nil
	}))
	if err != nil || len(left) == 0 {
		return 0, err
	}
	var ended []string
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		link, err := u.ending(ctx, name, nil)
		if err != nil {
			return 0, err
		}
		if link != nil && hashes[link.Last] {
			ended = append(ended, name)
			err = u.carry(ctx, name)
		}
		if err != nil {
			return 0, err
		}
	}
	erased, err := u.eraseRows(ctx, seqs, left)
	for i := 0; i < len(ended) && err == nil; i++ {
		err = u.closeChain(ctx, ended[i])
	}
	return erased, u.fail(err)
}

// carry has the log tell again of the rows of a chain that is going to be closed: of its questions, since several
// principals may have one binding, of values, or of the calls of its session.
func (u *erasure) carry(ctx context.Context, chain string) error {
	if sessional(chain) {
		n, err := u.calls(ctx, chain)
		if err == nil && n != nil {
			err = u.retell(ctx, chain, n)
		}
		return err
	}
	if !strings.HasPrefix(chain, questionChain) && !strings.HasPrefix(chain, valueChain) {
		return nil
	}
	proved, err := u.prove(ctx, chain, u.prover.proofs.get(chain), true)
	if err != nil || proved == nil {
		return err
	}
	for row := range proved.rows.all() {
		if row.Live(micros(u.lately())) {
			u.keep(row)
		}
	}
	return nil
}

// Chains that several rows share begin so.
const (
	questionChain = record.StateChain + record.QuestionTable + "/"
	valueChain    = record.StateChain + record.ValueTable + "/"
)

// eraseRows writes the leaves in the place of entries, and removes their asides. Rows are removed and written anew:
// SQLite does not free the rest of a page whose rows become shorter.
func (u *erasure) eraseRows(ctx context.Context, seqs []int64, left []any) (int64, error) {
	erased, err := changeIn(ctx, u.unit, removeRows, seqs)
	if err == nil {
		err = u.insert(ctx, writeRows, 9, left)
	}
	if err == nil {
		_, err = changeIn(ctx, u.unit, removeAsides, seqs)
	}
	return erased, err
}

// RemoveAsides implements [audit.Beside], in one transaction.
func (l *Log) RemoveAsides(ctx context.Context, seqs []int64) (removed int64, err error) {
	err = l.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
		removed, err = changeIn(ctx, u, removeAsides, seqs)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
