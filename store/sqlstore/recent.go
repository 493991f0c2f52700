package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/store"
)

// maxRecent is how many sessions are remembered.
const maxRecent = 10_000

// recent remembers sessions that were read, for as long as nobody has committed anything to the database since: no writer of
// this process, nor another process. SQLite tells that of a connection that does not write itself (pragma data_version),
// for less than it takes to read a session and its label. So what it returns is what a query would return.
type recent struct {
	db   *DB
	text string // the query for the version; "" remembers nothing

	mu         sync.Mutex
	conn       *sql.Conn
	statements *statements
	version    int64
	sessions   *bounded.Map[string, recentSession]
}

// A recentSession is a session, if it is there, and the head of the log that it was read with.
type recentSession struct {
	store.Session
	headRow
	there bool
}

func (s *recentSession) scan(rows *sql.Rows) error {
	var text []byte
	var created, seen int64
	if err := s.headRow.scan(rows, &s.there, &s.Parent, &s.Principal, &text, &s.Calls, &created, &seen); err != nil {
		return err
	}
	s.Created, s.Seen = fromMicros(created), fromMicros(seen)
	var err error
	s.Label, err = parseLabel(text)
	return err
}

// get returns a session as it is now.
func (r *recent) get(ctx context.Context, key string) (s recentSession, err error) {
	err = r.db.reading(r.db.opts.Timeout)(ctx, func(ctx context.Context) (began bool, err error) {
		s, err = r.read(ctx, key)
		return s.there, err
	})
	return s, err
}

func (r *recent) read(ctx context.Context, key string) (s recentSession, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.connect(ctx); err != nil {
		return s, err
	}
	// The read is short, and a connection that a context interrupts may be of no use: it is not interrupted.
	ctx = context.WithoutCancel(ctx)
	var version int64
	if err := r.statements.query(ctx, r.text, func(rows *sql.Rows) error { return rows.Scan(&version) }); err != nil {
		return s, err
	}
	if version != r.version {
		r.version = version
		r.sessions.Clear()
	}
	if s, ok := r.sessions.Get(key); ok {
		return s, nil
	}
	// What is read now is at least as new as the version: if it is newer, the next version is another.
	if err = r.statements.query(ctx, readSession, s.scan, key); s.there && err == nil {
		s.Key = key
		r.sessions.Set(key, s)
	}
	return s, err
}

func (r *recent) connect(ctx context.Context) error {
	if r.conn != nil {
		return nil
	}
	c, err := r.db.pool.Conn(ctx)
	if err != nil {
		return err
	}
	r.conn, r.sessions = c, bounded.NewMap[string, recentSession](maxRecent)
	r.statements = &statements{db: c, prepared: map[string]*sql.Stmt{}}
	return nil
}

func (r *recent) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil {
		return nil
	}
	err := errors.Join(r.statements.close(), r.conn.Close())
	r.conn = nil
	return err
}
