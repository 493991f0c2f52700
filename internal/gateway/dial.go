package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/record"
)

const (
	// DefaultStartup is how long the first answers to a host wait for servers that do not answer their handshake.
	DefaultStartup = 10 * time.Second

	dialTimeout = 30 * time.Second // to start a server and agree on a revision
	maxDialling = 16               // servers that are started at once; one that takes longer than the startup counts no more
	arrivalWait = 100 * time.Millisecond
)

// errLate says that a server has not answered its handshake yet.
var errLate = hosterror.New("it has not answered its handshake yet")

// A dialling is an attempt to reach a server. It belongs to the link, so it goes on when who wanted it has left.
type dialling struct {
	since time.Time
	done  chan struct{}  // closed when the rest is there
	conn  *upstream.Conn // nil if err is not
	err   error
}

// connection returns the live connection, dialling if need be.
func (l *link) connection(ctx context.Context) (*upstream.Conn, error) {
	l.mu.Lock()
	conn, d, err := l.begin()
	l.mu.Unlock()
	if d == nil {
		return conn, err
	}
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, hosterror.At(l.server.Name, upstream.Explain(context.Cause(ctx)))
	}
}

// begin returns the live connection, the attempt that is being made, or why none is made. The lock must be held.
func (l *link) begin() (*upstream.Conn, *dialling, error) {
	if l.closed {
		return nil, nil, hosterror.At(l.server.Name, errUnserved)
	}
	dead := l.conn
	if dead != nil && dead.Err() == nil {
		return dead, nil, nil
	}
	if l.dialling != nil {
		return nil, l.dialling, nil
	}
	if dead != nil {
		l.note(Ended, dead.Err())
		l.conn = nil
	}
	if err := l.pause.waiting(time.Now()); err != nil {
		return nil, nil, err
	}
	d := &dialling{since: time.Now(), done: make(chan struct{})}
	tried := l.trying()
	if err := l.set.g.holds.run(func() { l.dial(d, dead, tried) }); err != nil {
		tried()
		return nil, nil, hosterror.At(l.server.Name, upstream.Explain(err))
	}
	l.dialling = d
	return nil, d, nil
}

// dial makes one attempt, after what is left of the dead connection, if there was one, has ended.
func (l *link) dial(d *dialling, dead *upstream.Conn, tried func()) {
	if dead != nil {
		dead.Close()
	}
	conn, err := l.reach()
	if err != nil {
		err = hosterror.At(l.server.Name, upstream.Explain(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tried()
	l.dialling = nil
	switch {
	case l.closed:
		if conn != nil {
			conn.Close()
		}
		conn, err = nil, hosterror.At(l.server.Name, errUnserved)
	case errors.Is(err, upstream.ErrLogin):
		l.needsLogin(err) // which may happen at any time, so the next attempt need not wait
	case err != nil:
		l.pause.failed(time.Now(), err)
		l.note(Failed, err)
	default:
		l.conn, l.pause, l.shut = conn, backoff{}, false
		l.set.forget("") // what it offers may have changed
		l.meter.login.Store(nil)
		l.note(Connected, nil)
		l.rewatch(conn)
		l.relevel(conn)
	}
	d.conn, d.err = conn, err
	close(d.done)
	if err == nil && l.missed.Swap(false) {
		l.set.arrived()
	}
}

// reach dials the server when its turn has come. It waits until the connection that this one replaces has ended: two
// processes of one server may want the same files.
func (l *link) reach() (*upstream.Conn, error) {
	g := l.set.g
	if l.after != nil {
		select {
		case <-l.after:
		case <-l.life.Done():
			return nil, errUnserved
		}
	}
	select {
	case g.dialling <- struct{}{}:
	case <-l.life.Done():
		return nil, errUnserved
	}
	release := sync.OnceFunc(func() { <-g.dialling })
	defer release()
	defer time.AfterFunc(g.waits.Load().startup, release).Stop()
	ctx, cancel := context.WithTimeout(l.life, dialTimeout)
	defer cancel()
	lease, err := l.roomForProcess(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := upstream.Dial(ctx, l.server.Spec, l.set.hello, &upstream.Options{
		Handler: relay{l}, Stderr: g.opts.Stderr, MaxMessage: int(g.opts.Budget.Message), BaseEnv: g.opts.BaseEnv, Logger: g.log,
	})
	if err != nil {
		lease.Release()
		return nil, err
	}
	if len(l.server.Spec.Command) == 0 {
		return conn, nil // the lease is empty
	}
	l.set.processes.Go(func() {
		<-conn.Done()
		_ = conn.Close() // waits for the process; whoever closes the link gets the error
		lease.Release()
	})
	return conn, nil
}

// yieldWait is how long the processes of an HTTP session that gave way may take to end before another one has to.
const yieldWait = 3 * time.Second

// roomForProcess takes room for the server's process; the lease of a server that has none is empty. At the limit the HTTP session gives way that was
// quiet for the longest time; if all are busy, there is no room.
func (l *link) roomForProcess(ctx context.Context) (*budget.Lease, error) {
	g, pool := l.set.g, l.set.g.opts.Budget.Processes
	n := int64(min(len(l.server.Spec.Command), 1))
	for {
		lease, ok := pool.Acquire(n)
		if ok {
			return lease, nil
		}
		if ctx.Err() != nil || !g.http.Yield() {
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
func (l *link) note(state State, err error) {
	l.saw(state, err)
	e := record.New(record.Upstream, time.Now())
	e.Server, e.Effect = l.server.Name, string(state)
	if err != nil {
		e.Message = err.Error()
		l.set.g.log.Warn("server "+string(state), "server", l.server.Name, "error", err)
	}
	if err := l.set.g.opts.Record.Record(context.Background(), e); err != nil {
		l.set.g.log.Error("recording", "error", err)
	}
}

// needsLogin notes that somebody has to log in. Until it is connected to the record and the log are told once.
func (l *link) needsLogin(err error) {
	if l.shut {
		l.saw(NeedsLogin, err)
	} else {
		l.note(NeedsLogin, err)
	}
	l.shut = true
	l.meter.login.Store(l.seen.Load())
}

// open returns the live connection; nil if there is none. It waits for nothing.
func (l *link) open() *upstream.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.conn.Err() != nil {
		return nil
	}
	return l.conn
}

// opened is open for what a host is told of all servers: one that is not there now is announced when it comes.
func (l *link) opened() *upstream.Conn {
	conn := l.open()
	if conn == nil {
		l.missed.Store(true)
		conn = l.open() // it may have come in between, and announced nothing
	}
	return conn
}

// isSlow reports whether hosts waited for the server long enough: its last attempt failed, or this one takes too long.
func (l *link) isSlow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pause.err != nil || l.dialling != nil && time.Since(l.dialling.since) > l.set.g.waits.Load().startup
}

// connect dials every server that is not connected, and waits for them: for those that hosts have waited for before not at
// all, and for the others as long as Options.Startup, if only one is connected then. It fails if none can be reached.
func (set *links) connect(ctx context.Context) error {
	type outcome struct {
		err  error
		slow bool
	}
	all := set.all()
	outcomes := make(chan outcome, len(all))
	waiting, dialled := 0, 0
	var connected bool
	for _, l := range all {
		if l.open() != nil {
			connected = true
			continue
		}
		slow := l.isSlow()
		if dialled++; !slow {
			waiting++
		}
		go func() {
			_, err := l.connection(ctx)
			outcomes <- outcome{err, slow}
		}()
	}
	late := time.NewTimer(set.g.waits.Load().startup)
	defer late.Stop()
	var errs []error
	for patient := true; dialled > 0 && (!connected || patient && waiting > 0); {
		select {
		case o := <-outcomes:
			dialled--
			if !o.slow {
				waiting--
			}
			connected = connected || o.err == nil
			errs = append(errs, o.err)
		case <-late.C:
			patient = false
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if connected {
		return nil
	}
	return errors.Join(errs...)
}

// arrived tells hosts that a server has come which they were told nothing of. Servers that come together are announced
// together.
func (set *links) arrived() {
	if !set.announcing.CompareAndSwap(false, true) {
		return
	}
	_ = set.g.holds.run(func() { // if the gateway closes, nobody needs to know any more
		select {
		case <-time.After(arrivalWait):
		case <-set.ended:
		}
		set.announcing.Store(false)
		set.listsChanged()
	})
}

// terms are what may change of a server while it is connected.
type terms struct {
	trust   contract.Trust
	timeout time.Duration
	overlay *overlay.Overlay
	resolve time.Duration
}

func (set *links) newLink(s Server) *link {
	l := &link{set: set, server: s, meter: &meter{}, gone: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	l.agree(s)
	return l
}

// agree takes over what may change of a connected server.
func (l *link) agree(s Server) {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Resolve == 0 {
		s.Resolve = DefaultResolve
	}
	l.terms.Store(&terms{s.Trust, s.Timeout, s.Overlay, s.Resolve})
}

func (l *link) trust() contract.Trust { return l.terms.Load().trust }

// overlay is what the operator says of the server; nil if nothing.
func (l *link) overlay() *overlay.Overlay { return l.terms.Load().overlay }

// timeout is how long the server may take to answer.
func (l *link) timeout() time.Duration { return l.terms.Load().timeout }

// errUnserved says that a link is closed: its host has left, the gateway ends, or the server is not configured any more.
var errUnserved = hosterror.New("it is not served any more")

// close ends the connection for good and waits for the server's process.
func (l *link) close() error {
	l.end()
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		defer close(l.gone)
	}
	d := l.dialling
	l.mu.Unlock()
	if d != nil {
		<-d.done
	}
	l.unwatch()
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}
