package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A proxy stands before a server. When it is stopped it forwards nothing and ends nothing.
type proxy struct {
	net.Listener
	to string // a unix socket

	mu      sync.Mutex
	resumed chan struct{} // closed while it forwards
	all     sync.WaitGroup
}

func newProxy(tb testing.TB, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(tb, err)
	p := &proxy{Listener: l, to: to, resumed: make(chan struct{})}
	close(p.resumed)
	p.all.Go(p.serve)
	tb.Cleanup(func() {
		p.Close()
		p.resume()
		p.all.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		near, err := p.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() {
			<-p.state()
			far, err := net.Dial("unix", p.to)
			if err != nil {
				near.Close()
				return
			}
			p.all.Go(func() { p.forward(near, far) })
			p.forward(far, near)
		})
	}
}

func (p *proxy) state() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resumed
}

func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.resumed:
	default:
		close(p.resumed)
	}
}

// forward copies from one side to the other while it may.
func (p *proxy) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		<-p.state()
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// through returns the URL of a fresh schema by way of a proxy.
func (c *cluster) through(tb testing.TB) (*proxy, string) {
	tb.Helper()
	p := newProxy(tb, filepath.Join(c.dir, ".s.PGSQL.5432"))
	u, err := url.Parse(c.fresh(tb))
	must(tb, err)
	q := u.Query()
	q.Del("host")
	u.Host, u.RawQuery = p.Addr().String(), q.Encode()
	return p, u.String()
}

func appendOne(ctx context.Context, db *sqlstore.DB) error {
	_, err := db.Log().Append(ctx, []audit.Entry{{Time: time.Now(), Kind: "k"}})
	return err
}

// A server that answers no more ends each operation with ErrStalled, in time, tells of it once, and goes on when it answers again.
func TestPostgresStalls(t *testing.T) {
	c := startCluster(t)
	before := runtime.NumGoroutine()
	for range 2 {
		stallOnce(t, c)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

func stallOnce(t *testing.T, c *cluster) {
	p, target := c.through(t)
	defer func() {
		p.Close()
		p.resume()
		p.all.Wait()
	}()
	var h told
	db, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Timeout: time.Second, Told: h.tell})
	must(t, err)
	begin(t, db, "s")
	must(t, appendOne(t.Context(), db))
	p.stop()
	var callers sync.WaitGroup
	for range 8 {
		for _, do := range []func() error{
			func() error { _, err := db.Get(t.Context(), "s"); return err },
			func() error {
				_, _, err := db.Open(t.Context(), store.Ref{Key: "s", Principal: "p"}, store.Limits{})
				return err
			},
			func() error { return appendOne(t.Context(), db) },
			func() error { _, err := db.Redeem(t.Context(), "b"); return err },
			func() error { _, err := db.Tainted(t.Context(), "file:///x", store.Limits{}); return err },
		} {
			callers.Go(func() {
				for range 3 {
					if err := do(); !errors.Is(err, sqlstore.ErrStalled) || !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%v; want ErrStalled", err)
					}
				}
			})
		}
	}
	callers.Wait()
	if err := db.Defer(t.Context(), audit.Entry{Time: time.Now(), Kind: "k"}); !errors.Is(err, sqlstore.ErrStalled) {
		t.Errorf("a deferred entry was taken: %v", err)
	}
	if got := h.states(); len(got) != 1 || got[0] != sqlstore.Stalled {
		t.Errorf("it told of %v; want once of having stalled", got)
	}
	p.resume()
	for deadline := time.Now().Add(time.Minute); appendOne(t.Context(), db) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	if got := db.Health().State; got != sqlstore.OK {
		t.Errorf("it is %v", got)
	}
	p.stop()
	if _, err := db.Get(t.Context(), "s"); !errors.Is(err, sqlstore.ErrStalled) {
		t.Error(err)
	}
	if err := db.Close(); err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}

// Who opens a database on a server that does not answer is told.
func TestPostgresStallsAtOnce(t *testing.T) {
	c := startCluster(t)
	p, target := c.through(t)
	p.stop()
	_, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Timeout: 200 * time.Millisecond})
	if err == nil {
		t.Fatal("it was opened")
	}
	p.resume()
}

// Connections that died while nobody used them cost no read and no write.
func TestPostgresDeadConnections(t *testing.T) {
	c := startCluster(t)
	db := open(t, c.fresh(t), nil)
	begin(t, db, "s")
	for range 5 {
		var readers sync.WaitGroup
		for range 32 { // all connections of the pool
			readers.Go(func() {
				if _, err := db.Get(t.Context(), "s"); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		out, err := c.command("psql", "-q", "-t", "-h", c.dir, "-U", "weir", "-d", "postgres", "-c",
			"select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'weir'").CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) == "0" {
			t.Fatalf("%v %s", err, out)
		}
		for range 20 {
			if _, err := db.Get(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			if err := appendOne(t.Context(), db); err != nil {
				t.Error(err)
			}
		}
	}
}

// The settings of waiting are the URL's where it has some, and the server's lock never outlives a client that is gone.
func TestPostgresSettings(t *testing.T) {
	c := startCluster(t)
	target := c.fresh(t)
	extra := "&keepalives_idle=7&keepalives_count=2&connect_timeout=3&lock_timeout=1234&tcp_user_timeout=9000&keepalives=1&keepalives_interval=2"
	must(t, open(t, target+extra, nil).Flush(t.Context()))
	if _, err := sqlstore.Open(t.Context(), target+"&keepalives_idle=soon", nil); err == nil {
		t.Error("keepalives_idle=soon was taken")
	}
}

// Another process that does not let go of a file ends operations in time too.
func TestSQLiteStalls(t *testing.T) {
	path := file(t)
	var h told
	db := open(t, path, &sqlstore.Options{Timeout: time.Second, Told: h.tell})
	must(t, appendOne(t.Context(), db))
	other, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer other.Close()
	conn, err := other.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "begin immediate")
	must(t, err)
	for range 3 {
		if err := appendOne(t.Context(), db); !errors.Is(err, sqlstore.ErrStalled) {
			t.Errorf("%v; want ErrStalled", err)
		}
	}
	_, err = conn.ExecContext(t.Context(), "rollback")
	must(t, err)
	for deadline := time.Now().Add(time.Minute); appendOne(t.Context(), db) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	if got := h.states(); len(got) != 2 || got[1] != sqlstore.OK {
		t.Errorf("it told of %v", got)
	}
}
