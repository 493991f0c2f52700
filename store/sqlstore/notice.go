package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weir-mcp/weir/store"
)

var _ store.Announcer = (*DB)(nil)

// A listener hears of answers. Those of its own process ring its bell; from the first time that somebody waits on, those of others do
// too, if the database server tells.
type listener struct {
	bell   store.Bell
	target string
	listen func(ctx context.Context, target string, ring func()) error // until an error; nil if the database tells nothing

	mu    sync.Mutex
	end   context.CancelFunc // nil until somebody waits
	ended chan struct{}
}

// Answered implements [store.Announcer].
func (d *DB) Answered() <-chan struct{} {
	d.listener.start()
	return d.listener.bell.Next()
}

// listenPause is how long a listener waits that has lost its connection.
const listenPause = time.Second

// start begins to listen, unless that was begun.
func (l *listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listen == nil || l.ended != nil {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	l.end, l.ended = end, make(chan struct{})
	go l.run(ctx)
}

// run listens until ctx ends. Whoever waits looks anew whenever it begins: what was told before it did not hear.
func (l *listener) run(ctx context.Context) {
	defer close(l.ended)
	for ctx.Err() == nil {
		_ = l.listen(ctx, l.target, l.bell.Ring) // who waits looks by itself too, and is told there what is wrong
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// close ends the listener, and waits for that. It does not start again.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = make(chan struct{})
		close(l.ended)
	}
	if l.end != nil {
		l.end()
	}
	<-l.ended
}

// The statements by which PostgreSQL tells of answers. A notice is sent when its transaction is committed.
const (
	postgresTell   = `select pg_notify('weir_answered', '')`
	postgresListen = `listen weir_answered`
)

// listenPostgres calls ring when it has begun to listen, and for each notice.
func listenPostgres(ctx context.Context, target string, ring func()) error {
	const limit = 5 * time.Second
	c, err := configPostgres(target, limit)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer func() { // not for long: the server may be gone
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	begin, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := conn.Exec(begin, postgresListen); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	for {
		ring()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("listening: %w", err)
		}
	}
}
