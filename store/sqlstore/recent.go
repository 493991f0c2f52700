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
)

// recent remembers rows that were read and proved, for as long as nobody has committed anything to the database since
// and the log has come no further: no writer of this process, nor another process. So it returns the same rows as a
// query and a proof would. The commits of this process's own writer are followed: see [recent.follow].
//
// SQLite tells of a connection whether others have committed since (pragma data_version), for less than it takes to
// read a row. For a database that does not tell, nothing is remembered.
type recent struct {
	mu         sync.Mutex
	conn       *sql.Conn
	statements *statements
	at         moment // of which all rows are
	head       *headRow
	sessions   *bounded.Map[string, recentSession]
	taints     *bounded.Map[string, []store.Taint]    // around a resource
	questions  *bounded.Map[string, []store.Question] // with a binding
	line       *line                                  // nil: not known
}

// A moment is a state of the database, and how far its log has come.
type moment struct {
	version int64 // as the connection of recent tells it
	anchor  *audit.Anchor
	sealed  bool
	mark    tlog.Tree
}

// A line is two versions of the database that were true at one time: as the connection of recent tells it, and as that
// of the writer does, for which its own commits do not count.
type line struct {
	version int64
	conn    *sql.Conn // the writer's
	others  int64
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
	if r.conn == nil {
		if r.conn, err = p.db.Conn(ctx); err != nil {
			return m, err
		}
		r.statements = &statements{db: r.conn, prepared: map[string]*sql.Stmt{}}
		r.sessions = bounded.NewMap[string, recentSession](maxRecent)
		r.taints = bounded.NewMap[string, []store.Taint](maxRecent)
		r.questions = bounded.NewMap[string, []store.Question](maxRecent)
	}
	m.version, err = p.version(ctx, r.statements)
	return m, err
}

// version returns a number that changes with each commit of others than the connection of the statements.
func (p *prover) version(ctx context.Context, s *statements) (n int64, err error) {
	// The read is short, and a connection that a context interrupts may be of no use: it is not interrupted.
	err = s.query(context.WithoutCancel(ctx), p.dialect.version, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// recall calls look with the lock held and the rows that are remembered as of now. It returns the moment, for
// [prover.remember].
func (p *prover) recall(ctx context.Context, look func(*recent)) (m moment, err error) {
	if p.dialect.version == "" {
		return m, nil
	}
	err = p.reading(p.opts.Timeout)(ctx, func(ctx context.Context) (began bool, err error) {
		r := &p.recent
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
	return m, err
}

// remember calls keep with the lock held, unless the database has changed since the moment. Rows that were read after
// it are at least as new: if they are newer, the next moment is another.
func (p *prover) remember(m moment, keep func(*recent)) {
	r := &p.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil && m == r.at {
		keep(r)
	}
}

// clear forgets everything that is not of the moment.
func (r *recent) clear(m moment) {
	r.at, r.head = m, nil
	r.sessions.Clear()
	r.taints.Clear()
	r.questions.Clear()
}

// follow takes the remembered rows past a transaction of the writer that was committed and noted, if nobody else has
// committed anything since the last one that it followed: the transaction tells the log of each row that it changes,
// and has the sessions as it leaves them. Else the next reader finds another version and forgets everything. The caller
// has the writer's turn.
func (w *writer) follow(ctx context.Context, since *line, u *unit) {
	r := &w.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil {
		return
	}
	version, err := w.version(ctx, r.statements)
	others, other := w.version(ctx, w.statements)
	if err != nil || other != nil {
		return
	}
	now := line{version, w.conn, others}
	if since == nil || since.conn != w.conn || since.others != others {
		// The versions are of one time if there was no commit between the first and the last look.
		if again, err := w.version(ctx, r.statements); err == nil && again == version {
			r.line = &now
		}
		return
	}
	r.line = &now
	before := r.at
	if r.at.version != since.version || !u.draftTells() {
		return
	}
	if before.anchor != nil && !w.opts.Unsynced {
		if before.mark != treeOf(u.before) {
			return
		}
		r.at.mark = treeOf(u.head)
	}
	r.at.version = version
	r.apply(u)
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
		r.head = &headRow{head: u.head, root: u.ends.RootNode(), sessions: u.sessions, found: true}
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
		}
	}
}

// leave returns the versions of the last transaction that was followed. Until the next one is, none are known.
func (r *recent) leave() *line {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.line
	r.line = nil
	return since
}

func (r *recent) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil {
		return nil
	}
	err := errors.Join(r.statements.close(), r.conn.Close())
	r.conn, r.line = nil, nil
	return err
}
