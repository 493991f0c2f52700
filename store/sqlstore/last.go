package sqlstore

import (
	"context"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A last is the database as the writer's last transaction has left it: the head of the log, and sessions. The next one
// takes them from here if the index of the write-ahead log shows that nobody has committed since: nobody can while it
// runs, so they are those that it would read.
type last struct {
	header walHeader
	head   headRow
	rows   map[string]store.Row
}

// maxLast is how many sessions are remembered between transactions.
const maxLast = 1000

// at returns what is remembered, if the database is as it was then.
func (l *last) at(header walHeader, known bool) *last {
	if l == nil || !known || l.header != header {
		return nil
	}
	return l
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

// leaves returns the database as a transaction leaves it that began at a header; nil if that is not known: others have
// committed too, or an operation has changed rows that are not in its draft.
func (w *writer) leaves(u *unit, before walHeader) *last {
	after, known := w.index.header()
	if !known || after.commits() != before.commits()+1 || !u.draftTells() {
		return nil
	}
	l := &last{header: after, head: u.leaves(), rows: map[string]store.Row{}}
	if u.last != nil && len(u.last.rows) < maxLast {
		l.rows = u.last.rows
	}
	for _, key := range u.draft.Keys() {
		if r, _ := u.draft.Row(key); u.damaged[key] == nil {
			l.rows[key] = r
		} else {
			delete(l.rows, key)
		}
	}
	for i := range u.journaled {
		if k := &u.journaled[i]; k.Table == record.SessionTable && (k.Gone != "" || !u.draft.Has(k.Key)) {
			delete(l.rows, k.Key)
		}
	}
	return l
}

// leaves returns the head as the transaction leaves it.
func (u *unit) leaves() headRow {
	return headRow{head: u.head, root: u.ends.RootNode(), sessions: u.sessions, found: true}
}

// readHead takes the lock of the writers and returns the head of the log.
func (u *unit) readHead(ctx context.Context) (headRow, error) {
	if u.last != nil {
		return u.last.head, nil
	}
	return readHead(ctx, u.statements, u.prover.dialect.lock)
}

// readSessions puts sessions and all their ancestors into the draft.
func (u *unit) readSessions(ctx context.Context, keys []string) error {
	if u.last.put(keys, u.draft) {
		return nil
	}
	return among(ctx, u.statements, readLineage, keys, u.put)
}
