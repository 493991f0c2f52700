package backend

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

const (
	// DefaultStartup is how long the first answers to a host wait for servers that do not answer their handshake.
	DefaultStartup = 10 * time.Second

	dialTimeout = 30 * time.Second // to start a server and agree on a revision
	maxStarts   = 16               // servers that are started at once; one that takes longer than the startup counts no more
	arrivalWait = 100 * time.Millisecond
)

// errLate says that a server has not answered its handshake yet.
var errLate = hosterror.New("it has not answered its handshake yet")

// A dialAttempt is an attempt to reach a server. It belongs to the dialer, so it goes on when the request that began it
// has ended.
type dialAttempt struct {
	since time.Time
	done  chan struct{}  // closed when the rest is there
	conn  *upstream.Conn // nil if err is not
	err   error
}

// A dialer keeps one connection to a server. It is dialled when first needed, and again after the server has died.
type dialer struct {
	*group
	settings
	server  Server // as it is reached
	handler upstream.Handler
	stats   *serverStats

	connected func(*upstream.Conn) // is told of each new connection, while the lock is held

	life    context.Context
	end     context.CancelFunc        // of life
	gone    chan struct{}             // closed when the connection has ended for good
	after   <-chan struct{}           // closed when it may be dialled; nil: at any time
	current atomic.Pointer[connState] // nil: nothing yet
	missed  atomic.Bool               // hosts were told of the other servers without this one

	mu      sync.Mutex
	conn    *upstream.Conn
	attempt *dialAttempt // nil if none is being made
	pause   backoff
	closed  bool
	shut    bool // a user has to log in
}

// Name returns the name of the server.
func (d *dialer) Name() string { return d.server.Name }

// Connection returns the live connection, dialling if need be.
func (d *dialer) Connection(ctx context.Context) (*upstream.Conn, error) {
	d.mu.Lock()
	conn, a, err := d.begin()
	d.mu.Unlock()
	if a == nil {
		return conn, err
	}
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, hosterror.At(d.Name(), upstream.Explain(context.Cause(ctx)))
	}
}

// begin returns the live connection, the attempt that is being made, or why none is made. The lock must be held.
func (d *dialer) begin() (*upstream.Conn, *dialAttempt, error) {
	if d.closed {
		return nil, nil, hosterror.At(d.Name(), errUnserved)
	}
	dead := d.conn
	if dead != nil && dead.Err() == nil {
		return dead, nil, nil
	}
	if d.attempt != nil {
		return nil, d.attempt, nil
	}
	if dead != nil {
		d.note(Ended, dead.Err())
		d.conn = nil
	}
	if err := d.pause.waiting(time.Now()); err != nil {
		return nil, nil, err
	}
	a := &dialAttempt{since: time.Now(), done: make(chan struct{})}
	tried := d.trying()
	if err := d.Run(func() { d.dial(a, dead, tried) }); err != nil {
		tried()
		return nil, nil, hosterror.At(d.Name(), upstream.Explain(err))
	}
	d.attempt = a
	return nil, a, nil
}

// dial makes one attempt, after what is left of the dead connection, if there was one, has ended.
func (d *dialer) dial(a *dialAttempt, dead *upstream.Conn, tried func()) {
	if dead != nil {
		dead.Close()
	}
	conn, err := d.reach()
	if err != nil {
		err = hosterror.At(d.Name(), upstream.Explain(err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	tried()
	d.attempt = nil
	switch {
	case d.closed:
		if conn != nil {
			conn.Close()
		}
		conn, err = nil, hosterror.At(d.Name(), errUnserved)
	case errors.Is(err, upstream.ErrLogin):
		d.needsLogin(err) // which may happen at any time, so the next attempt need not wait
	case err != nil:
		d.pause.failed(time.Now(), err)
		d.note(Failed, err)
	default:
		d.conn, d.pause, d.shut = conn, backoff{}, false
		d.forget("") // its lists may have changed
		d.stats.login.Store(nil)
		d.note(Connected, nil)
		d.connected(conn)
	}
	a.conn, a.err = conn, err
	close(a.done)
	if err == nil && d.missed.Swap(false) {
		d.arrived()
	}
}

// reach dials the server when its turn has come. It waits until the connection that this one replaces has ended: two
// processes of one server may want the same files.
func (d *dialer) reach() (*upstream.Conn, error) {
	if d.after != nil {
		select {
		case <-d.after:
		case <-d.life.Done():
			return nil, errUnserved
		}
	}
	select {
	case d.starts <- struct{}{}:
	case <-d.life.Done():
		return nil, errUnserved
	}
	release := sync.OnceFunc(func() { <-d.starts })
	defer release()
	defer time.AfterFunc(d.patience(), release).Stop()
	ctx, cancel := context.WithTimeout(d.life, dialTimeout)
	defer cancel()
	lease, err := d.roomForProcess(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := upstream.Dial(ctx, d.server.Spec, d.Hello, &upstream.Options{
		Handler: d.handler, Stderr: d.Stderr, MaxMessage: int(d.Budget.Message), BaseEnv: d.BaseEnv, Logger: d.Log,
	})
	if err != nil {
		lease.Release()
		return nil, err
	}
	if len(d.server.Spec.Command) == 0 {
		return conn, nil // the lease is empty
	}
	d.processes.Go(func() {
		<-conn.Done()
		_ = conn.Close() // waits for the process; the error goes to the caller that closes the dialer
		lease.Release()
	})
	return conn, nil
}

// yieldWait is how long the processes of an HTTP session that gave way may take to end before another one has to.
const yieldWait = 3 * time.Second

// roomForProcess takes room for the server's process; the lease of a server that has none is empty. At the limit the
// HTTP session gives way that was quiet for the longest time; if all are busy, there is no room.
func (d *dialer) roomForProcess(ctx context.Context) (*budget.Lease, error) {
	pool := d.Budget.Processes
	n := int64(min(len(d.server.Spec.Command), 1))
	for {
		lease, ok := pool.Acquire(n)
		if ok {
			return lease, nil
		}
		if ctx.Err() != nil || !d.Yield() {
			pool.Refused()
			return nil, hosterror.New("{} processes of servers run already", hosterror.Number(int(pool.Limit())))
		}
		pool.Evicted()
		soon, cancel := context.WithTimeout(ctx, yieldWait)
		_ = pool.Wait(soon, n)
		cancel()
	}
}

// note records and logs what happened to the connection. The lock must be held.
func (d *dialer) note(state State, err error) {
	d.saw(state, err)
	e := record.New(record.Upstream, time.Now())
	e.Server, e.Effect = d.Name(), string(state)
	if err != nil {
		e.Message = err.Error()
		d.Log.Warn("server "+string(state), "server", d.Name(), "error", err)
	}
	if err := d.Record.Record(context.Background(), e); err != nil {
		d.Log.Error("recording", "error", err)
	}
}

// needsLogin notes that a user has to log in. Until it is connected to the record and the log are told once.
func (d *dialer) needsLogin(err error) {
	if d.shut {
		d.saw(NeedsLogin, err)
	} else {
		d.note(NeedsLogin, err)
	}
	d.shut = true
	d.stats.login.Store(d.current.Load())
}

// Open returns the live connection; nil if there is none. It waits for nothing.
func (d *dialer) Open() *upstream.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil || d.conn.Err() != nil {
		return nil
	}
	return d.conn
}

// opened is Open for lists and answers of all servers: one that is not there now is announced when it comes.
func (d *dialer) opened() *upstream.Conn {
	conn := d.Open()
	if conn == nil {
		d.missed.Store(true)
		conn = d.Open() // it may have come in between, and announced nothing
	}
	return conn
}

// isSlow reports whether hosts waited for the server long enough: its last attempt failed, or this one takes too long.
func (d *dialer) isSlow() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pause.err != nil || d.attempt != nil && time.Since(d.attempt.since) > d.patience()
}

// errUnserved says that a dialer is closed: its host has left, the gateway ends, or the server is not configured any
// more.
var errUnserved = hosterror.New("it is not served any more")

// stop lets no further attempt begin, and waits for the one that is being made. It reports whether it is the first to
// do so.
func (d *dialer) stop() (first bool) {
	d.end()
	d.mu.Lock()
	first, d.closed = !d.closed, true
	a := d.attempt
	d.mu.Unlock()
	if a != nil {
		<-a.done
	}
	return first
}
