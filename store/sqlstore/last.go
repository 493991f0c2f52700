package sqlstore

import (
	"context"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A last is the database as the writer's last transaction has left it: the head of the log, and sessions. The next one
// takes them from here if the index of the write-ahead log shows that nobody has committed since: nobody can while it
// runs, so they are those that it would read. Nil knows nothing.
type last struct {
	header walHeader
	head   headRow
	rows   map[string]store.Row
}

// maxLast is how many sessions are remembered between transactions.
const maxLast = 1000

// at returns l if the database is still as it was then.
func (l *last) at(header walHeader, known bool) *last {
	if l == nil || !known || l.header != header {
		return nil
	}
	return l
}

// readHead takes the lock of the writers and returns the head of the log.
func (l *last) readHead(ctx context.Context, u *unit) (headRow, error) {
	if l != nil {
		return l.head, nil
	}
	return readHead(ctx, u.statements, u.prover.dialect.lock)
}

// readSessions puts sessions and all their ancestors into the draft, as the log proves them. Those of l need no other
// proof: the head is the one under which the transaction has proved them, or has told the log of them.
func (l *last) readSessions(ctx context.Context, u *unit, keys []string) error {
	if l.put(keys, u.draft) {
		for _, key := range u.draft.Keys() {
			s, _ := u.draft.Get(key)
			u.proven[key] = keptWithCalls(&s)
		}
		return nil
	}
	if err := among(ctx, u.statements, readLineage, keys, u.put); err != nil {
		return err
	}
	for _, key := range u.draft.Keys() {
		keys = append(keys, key)
		if s, _ := u.draft.Get(key); s.Parent != "" {
			keys = append(keys, s.Parent) // whose row may be missing
		}
	}
	return u.check(ctx, keys...)
}

// put puts sessions and their ancestors into a draft, and reports whether it has all of them.
func (l *last) put(keys []string, d *store.Draft) bool {
	if l == nil {
		return false
	}
	for _, key := range keys {
		for key != "" && !d.Has(key) {
			r, ok := l.rows[key]
			if !ok {
				return false
			}
			d.Put(r)
			key = r.Parent
		}
	}
	return true
}

// after returns the database as a transaction leaves it that began at a header, and of which l is the one before; nil
// if that is not known: others have committed too, or an operation has changed rows that are not in its draft.
func (l *last) after(u *unit, before walHeader, index *walIndex) *last {
	header, known := index.header()
	if !known || header.commits() != before.commits()+1 || !u.draftTells() {
		return nil
	}
	next := &last{header: header, head: leaves(u), rows: map[string]store.Row{}}
	if l != nil && len(l.rows) < maxLast {
		next.rows = l.rows
	}
	for _, key := range u.draft.Keys() {
		if r, _ := u.draft.Row(key); u.damaged[key] == nil {
			next.rows[key] = r
		} else {
			delete(next.rows, key)
		}
	}
	for i := range u.journaled {
		if k := &u.journaled[i]; k.Table == record.SessionTable && (k.Gone != "" || !u.draft.Has(k.Key)) {
			delete(next.rows, k.Key)
		}
	}
	return next
}

// leaves returns the head of the log as a transaction leaves it.
func leaves(u *unit) headRow {
	return headRow{head: u.head, root: u.ends.RootNode(), sessions: u.sessions, found: true}
}
