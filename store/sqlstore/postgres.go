package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const postgresPatient = "set local idle_in_transaction_session_timeout = 0"

func openPostgres(_ context.Context, p *pool, target string) error {
	config, err := configPostgres(target, p.opts.Timeout)
	if err != nil {
		return err
	}
	if p.opts.Unsynced {
		config.RuntimeParams["synchronous_commit"] = "off"
	}
	wires := &wires{dial: config.DialFunc, open: map[net.Conn]bool{}}
	config.DialFunc, p.hangUp = wires.connect, wires.close
	settings := settingsOf(config, p.opts)
	p.db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, settings)
		return err
	}))
	return nil
}

// settingsOf returns the statement that a connection begins with: the timeouts of the server that the URL does not set.
// They are no parameters of the connection, which poolers do not take. A server that has lost a client ends its
// transaction, so that others do not wait for its lock.
func settingsOf(config *pgx.ConnConfig, opts Options) string {
	text := "select set_config('application_name', current_setting('application_name'), false)"
	set := func(name, value string) {
		if _, said := config.RuntimeParams[name]; !said {
			text += fmt.Sprintf(", set_config('%s', '%s', false)", name, value)
		}
	}
	ms := strconv.FormatInt(opts.Timeout.Milliseconds(), 10)
	set("lock_timeout", ms)
	set("idle_in_transaction_session_timeout", strconv.FormatInt(2*opts.Timeout.Milliseconds(), 10))
	set("client_connection_check_interval", "1000")
	set("tcp_user_timeout", ms)
	if opts.ReadOnly {
		set("default_transaction_read_only", "on")
	}
	return text
}

// configPostgres returns how to connect to a server. The timeouts of libpq that pgx does not have are taken out of the
// URL's parameters; without it, connecting has the time of an operation, and a server that is gone is noticed in that
// time.
func configPostgres(target string, limit time.Duration) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(target)
	if err != nil {
		return nil, err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "weir"
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = limit
	}
	take := func(name string, otherwise time.Duration, unit time.Duration) time.Duration {
		text, said := config.RuntimeParams[name]
		delete(config.RuntimeParams, name)
		n, bad := strconv.Atoi(text)
		if !said {
			return otherwise
		}
		if bad != nil || n < 0 {
			err = fmt.Errorf("%s: %q is not a number", name, text)
		}
		return time.Duration(n) * unit
	}
	second := time.Second
	alive := net.KeepAliveConfig{Enable: take("keepalives", 1, 1) != 0, Idle: take("keepalives_idle", limit, second),
		Interval: take("keepalives_interval", second, second), Count: int(take("keepalives_count", 3, 1))}
	unanswered := take("tcp_user_timeout", limit, time.Millisecond)
	dialer := &net.Dialer{KeepAliveConfig: alive, Control: userTimeout(unanswered)}
	if !alive.Enable {
		dialer.KeepAlive = -1
	}
	config.DialFunc = dialer.DialContext
	return config, err
}

// Wires are the open connections of a pool.
type wires struct {
	dial pgconn.DialFunc

	mu   sync.Mutex
	open map[net.Conn]bool
}

func (w *wires) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := w.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = true
	return &wire{c, w}, nil
}

// close closes all of them, and whoever waits for one gets an error.
func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// A wire is forgotten when it is closed.
type wire struct {
	net.Conn
	of *wires
}

func (c *wire) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// postgresConflict knows serialization failures and deadlocks, and tables that two processes make at once.
func postgresConflict(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "40001", "40P01", "23505", "42P07":
		return true
	}
	return false
}

func postgresLost(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) { // an error that the server did not send comes from the connection
		return err != nil && !errors.Is(err, context.Canceled)
	}
	return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")
}

// postgresDropped leaves out a server that cannot be reached.
func postgresDropped(err error) bool {
	return postgresLost(err) && !errors.As(err, new(*pgconn.ConnectError))
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
