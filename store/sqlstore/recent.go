package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// Bounds of the rows that are remembered.
const (
	maxRecent = 10_000 // sessions, resources and bindings, each
	maxAround = 64     // labels around one resource, and requests with one binding
	maxValued = 256    // sessions with values

	maxBindings = 1000 // of all requests there are
	maxMisses   = 16   // bindings after which it is not tried again to list those of all requests
)

// recent remembers rows that were read and proved, for as long as nobody has committed anything to the database since
// and the log has come no further: no writer of this process, nor another process. So it returns the same rows as a
// query and a proof would. The commits of this process's own writer are followed: see [writer.follow].
//
// The index of SQLite's write-ahead log tells whether anybody has committed since, without a system call. Where it does
// not, SQLite tells a connection whether others have (pragma data_version), for less than it takes to read a row; then
// no commit is followed. For a database that does not tell, nothing is remembered.
type recent struct {
	mu         sync.Mutex
	conn       *sql.Conn // asks SQLite; nil until that is needed
	statements *statements
	at         moment // of which all rows are
	head       *headRow
	sessions   *bounded.Map[string, recentSession]    // nil: nothing was read yet, or the database is closed
	taints     *bounded.Map[string, []store.Taint]    // around a resource
	questions  *bounded.Map[string, []store.Question] // with a binding
	values     *bounded.Map[string, []keptValue]      // of a session
	bindings   map[string]bool                        // of all requests, and perhaps more; nil: not known
	misses     int                                    // bindings whose requests were not remembered
}

// lacks reports whether it is known that there are no requests with a binding.
func (r *recent) lacks(binding string) bool { return r.bindings != nil && !r.bindings[binding] }

// listsBindings reports whether to list the bindings of all requests: for the second binding and, until that succeeds,
// for some others.
func (r *recent) listsBindings() bool {
	return r.bindings == nil && r.misses > 0 && r.misses < maxMisses
}

// keepBindings keeps the bindings of all requests, unless there are too many: they are not listed again then.
func (r *recent) keepBindings(all map[string]bool) {
	if r.bindings = all; len(all) > maxBindings {
		r.bindings, r.misses = nil, maxMisses
	}
}

// A moment is a state of the database, and how far its log has come.
type moment struct {
	header  walHeader // zero: the index does not tell
	version int64     // as the connection of recent tells it, if the index does not
	anchor  *audit.Anchor
	sealed  bool
	mark    tlog.Tree
}

// A recentSession is a session, if it is there.
type recentSession struct {
	store.Session
	there bool
}

// moment returns the state of the database now. The lock must be held.
func (p *prover) moment(ctx context.Context) (m moment, err error) {
	r := &p.recent
	if m.anchor, m.sealed = p.anchor.Load(), p.sealed.Load(); m.anchor != nil {
		if m.mark, err = m.anchor.Mark(); err != nil {
			return m, err
		}
	}
	if r.sessions == nil {
		r.sessions = bounded.NewMap[string, recentSession](maxRecent)
		r.taints = bounded.NewMap[string, []store.Taint](maxRecent)
		r.questions = bounded.NewMap[string, []store.Question](maxRecent)
		r.values = bounded.NewMap[string, []keptValue](maxValued)
	}
	known := false
	if m.header, known = p.index.header(); !known {
		m.version, err = p.version(ctx)
	}
	return m, err
}

// version returns a number that changes with each commit of others than the connection of recent. That one makes none.
func (p *prover) version(ctx context.Context) (n int64, err error) {
	r := &p.recent
	if r.conn == nil {
		if r.conn, err = p.db.Conn(ctx); err != nil {
			return 0, err
		}
		r.statements = &statements{db: r.conn, prepared: map[string]*sql.Stmt{}}
	}
	// The read is short, and a connection that a context interrupts may be of no use: it is not interrupted.
	err = r.statements.query(context.WithoutCancel(ctx), p.dialect.version, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// recall calls look with the lock held and the rows that are remembered as of now, or as of an earlier read of the same
// decision (see [store.Together]), afresh only if nobody has committed anything since. It returns the moment, for
// [prover.remember].
func (p *prover) recall(ctx context.Context, look func(*recent)) (m moment, err error) {
	if p.dialect.version == "" {
		return m, nil
	}
	r := &p.recent
	decision, afresh := store.MomentOf(ctx)
	if decision != nil {
		before, ok := decision.Load().(seen)
		if ok && before.by == p && (!afresh || p.uncommitted(before.moment)) && r.stillAt(before.moment, look) {
			return before.moment, nil
		}
	}
	err = p.reading(p.opts.Timeout)(ctx, func(ctx context.Context) (began bool, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if m, err = p.moment(ctx); err != nil {
			return false, err
		}
		if m != r.at {
			r.clear(m)
		}
		look(r)
		return true, nil
	})
	if err == nil && decision != nil && !afresh {
		decision.Store(seen{p, m})
	}
	return m, err
}

// uncommitted reports whether nobody has committed anything since a moment: the index of the log tells without a
// system call. Where it does not tell, that is not known.
func (p *prover) uncommitted(since moment) bool {
	now, known := p.index.header()
	return known && now == since.header
}

// seen is the moment that a decision has seen, and the database that it is of.
type seen struct {
	by     *prover
	moment moment
}

// stillAt calls look with the lock held, if the rows that are remembered are of the moment.
func (r *recent) stillAt(m moment, look func(*recent)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil || r.at != m || m == (moment{}) {
		return false
	}
	look(r)
	return true
}

// remember calls keep with the lock held, unless the database has changed since the moment. Rows that were read after
// it are at least as new: if they are newer, the next moment is another.
func (p *prover) remember(m moment, keep func(*recent)) {
	r := &p.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions != nil && m == r.at {
		keep(r)
	}
}

// clear forgets everything that is not of the moment.
func (r *recent) clear(m moment) {
	r.at, r.head = m, nil
	r.sessions.Clear()
	r.taints.Clear()
	r.questions.Clear()
	r.values.Clear()
	r.bindings, r.misses = nil, 0
}

// follow takes the remembered rows past a transaction of the writer that was committed and noted, if nobody has
// committed anything else since they were read: the transaction tells the log of each row that it changes, and has the
// sessions as it leaves them. It reports whether it did. The header before is that which the transaction began with,
// when nobody else could commit any more. The caller has the writer's turn.
func (w *writer) follow(before walHeader, u *unit) bool {
	r := &w.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	after, known := w.index.header()
	if r.sessions == nil || !known || r.at.header != before || after.commits() != before.commits()+1 || !u.draftTells() {
		return false
	}
	if r.at.anchor != nil && !w.opts.Unsynced {
		if r.at.mark != treeOf(u.before) {
			return false
		}
		r.at.mark = treeOf(u.head)
	}
	r.at.header = after
	r.apply(u)
	return true
}

// forget has the next reader ask the database, also in a decision that has read before: it may have written since.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions != nil {
		r.clear(moment{})
	}
}

func treeOf(h audit.Head) tlog.Tree { return tlog.Tree{N: h.Size, Hash: h.Root()} }

// draftTells reports whether the draft and the events of rows have all changes of the transaction.
func (u *unit) draftTells() bool {
	for _, o := range u.ops {
		if o.alone {
			return false
		}
	}
	return !u.closed
}

// apply has the rows as a transaction leaves them.
func (r *recent) apply(u *unit) {
	r.head = nil
	if u.batch != nil {
		head := leaves(u)
		r.head = &head
	}
	for _, key := range u.draft.Keys() {
		if s, ok := u.draft.Get(key); ok && u.damaged[key] == nil {
			r.sessions.Set(key, recentSession{s, true})
		} else {
			r.sessions.Delete(key)
		}
	}
	for i := range u.journaled {
		switch k := &u.journaled[i]; k.Table {
		case record.SessionTable:
			if k.Gone != "" || !u.draft.Has(k.Key) {
				r.sessions.Delete(k.Key)
			}
		case record.TaintTable:
			r.taints.Clear()
		case record.QuestionTable:
			r.questions.Delete(k.Binding)
			r.asked(k.Binding)
		case record.ValueTable:
			r.values.Delete(k.Session)
		}
	}
}

// asked notes that there may be a request with a binding now.
func (r *recent) asked(binding string) {
	if r.bindings == nil {
		return
	}
	r.bindings[binding] = true
	r.keepBindings(r.bindings)
}

func (r *recent) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = nil
	if r.conn == nil {
		return nil
	}
	err := errors.Join(r.statements.close(), r.conn.Close())
	r.conn = nil
	return err
}
