package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A writer does ops in the order in which they come, those that wait at one time in one transaction. It has a goroutine
// as long as there is something to do, and a little longer: the stack of a new one has to grow for each transaction.
// Whoever waits goes when it has waited long enough, also where the system does not come back from a write.
type writer struct {
	*prover
	turn   chan struct{} // held by who commits
	worker worker

	mu       sync.Mutex
	waiting  []*op
	deferred []*op // nobody waits for them
	unmade   int   // of these, that have an entry to make
	stuck    error // why the deferred ones could not be written
	timer    *time.Timer
	closed   bool

	conn       *sql.Conn // belongs to who has the turn, like all below
	statements *statements
	until      time.Time // no transaction is tried again later
	doubt      *unit     // the last transaction, if it is not known whether it was committed
	last       *last     // the last transaction, if it was committed
	bodies     packer
}

// maxDeferred is how many ops are deferred at most; the next one waits.
const maxDeferred = 4096

// maxUnmade is how many of these have an entry to make, of texts that are kept until then.
const maxUnmade = 512

// maxGroup is how many ops one transaction takes.
const maxGroup = 512

func newWriter(p *prover) *writer {
	w := &writer{prover: p, turn: make(chan struct{}, 1), worker: newWorker()}
	w.timer = time.AfterFunc(time.Hour, w.flushDeferred)
	w.timer.Stop()
	p.report = func(e audit.Entry) { w.offer(&op{entries: []audit.Entry{e}}) }
	return w
}

// do runs the op and returns when it is durable, or had no effect, or is errUncertain.
func (w *writer) do(ctx context.Context, o *op) error {
	if w.opts.ReadOnly {
		return errReadOnly
	}
	err := ctx.Err()
	if err == nil {
		o.probe, err = w.health.admit()
	}
	if err != nil {
		return err
	}
	o.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.waiting = append(w.waiting, o)
	w.mu.Unlock()
	late := time.NewTimer(w.opts.Timeout)
	defer late.Stop()
	select {
	case <-o.done:
		return o.err
	case w.turn <- struct{}{}:
		w.worker.do(func() { w.work(context.WithoutCancel(ctx), o) })
	case <-late.C:
		if err = fmt.Errorf("%w: writing did not begin within %v", ErrStalled, w.opts.Timeout); w.withdraw(o) {
			return w.health.note(err)
		}
	case <-ctx.Done():
		if w.withdraw(o) {
			return ctx.Err()
		}
	}
	return w.wait(o)
}

// wait waits for an op that was begun, and so ends when the transaction does, unless the system does not come back.
func (w *writer) wait(o *op) error {
	late := time.NewTimer(w.limit(o) * 5 / 4)
	defer late.Stop()
	select {
	case <-o.done:
		return o.err
	case <-late.C:
	}
	o.abandon()
	err := fmt.Errorf("%w: %w: nothing came back from writing", ErrStalled, errUncertain)
	return w.health.note(err)
}

// longWrite is how long a transaction may take that goes through the whole database.
const longWrite = 10 * time.Minute

// limit returns how long a transaction with ops may take.
func (w *writer) limit(ops ...*op) time.Duration {
	if len(ops) == 1 && ops[0].long {
		return longWrite
	}
	return w.opts.Timeout
}

// work commits until the op is done. It has the turn, and gives it up.
func (w *writer) work(ctx context.Context, o *op) {
	defer func() { <-w.turn }()
	for {
		select {
		case <-o.done:
			return
		default:
			w.commitNext(ctx, o.probe)
		}
	}
}

// errReadOnly is the error of a write to a database that was opened to be read.
var errReadOnly = errors.New("the database is open for reading only")

// withdraw takes back an op that nobody has begun.
func (w *writer) withdraw(o *op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.waiting {
		if other == o {
			w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// later runs the op within the time that deferred writes may wait. The error is why earlier ones could not be written.
func (w *writer) later(ctx context.Context, o *op) error {
	if h := w.health.get(); h.State == Stalled {
		return h.Err
	}
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return ErrClosed
	case w.stuck != nil:
		err := w.stuck
		w.mu.Unlock()
		return fmt.Errorf("earlier writes are not on disk: %w", err)
	case len(w.deferred) >= maxDeferred:
		w.mu.Unlock()
		return w.do(ctx, o)
	}
	w.deferred = append(w.deferred, o)
	if o.made != nil {
		w.unmade++
	}
	if len(w.deferred) == 1 {
		w.timer.Reset(w.opts.Linger)
	}
	w.mu.Unlock()
	return nil
}

// crowded reports whether no more ops should wait that have an entry to make.
func (w *writer) crowded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unmade >= maxUnmade
}

// flushDeferred writes the deferred ops when the timer ends. As long as writing fails, it sets the timer again.
func (w *writer) flushDeferred() {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if probe, err := w.health.admit(); err == nil {
		w.commitNext(context.Background(), probe)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.deferred) > 0 && !w.closed {
		w.timer.Reset(w.opts.Linger)
	}
}

// flush writes everything that was deferred.
func (w *writer) flush(ctx context.Context) error {
	err := w.do(ctx, &op{})
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(err, w.stuck)
}

func (w *writer) close() error {
	if w.opts.ReadOnly {
		return nil
	}
	err := w.flush(context.Background())
	if errors.Is(err, ErrClosed) {
		return nil
	}
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if !again {
		w.worker.end()
	}
	w.timer.Stop()
	select {
	case w.turn <- struct{}{}:
		w.commitNext(context.Background(), false) // whoever came meanwhile
		w.disconnect()
		w.worker.wait() // the turn is not given back, so it has no task
	case <-time.After(w.opts.Timeout): // the system does not come back
	}
	return err
}

// next takes the ops of the next transaction: the deferred ones first. While those cannot be written, what has to be
// alone does not wait for them.
func (w *writer) next() (ops []*op, deferred int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck != nil && len(w.waiting) > 0 && w.waiting[0].alone {
		ops, w.waiting = w.waiting[:1:1], w.waiting[1:]
		return ops, 0
	}
	deferred = len(w.deferred)
	ops = w.deferred
	w.deferred, w.unmade = nil, 0
	taken := 0
	for _, o := range w.waiting {
		if len(ops) >= maxGroup+deferred || (o.alone && len(ops) > 0) {
			break
		}
		ops = append(ops, o)
		if taken++; o.alone {
			break
		}
	}
	w.waiting = w.waiting[taken:]
	return ops, deferred
}

// commitNext does the next transaction. It is called by who has the turn. If the database has stalled, only a probe is
// tried.
func (w *writer) commitNext(ctx context.Context, probe bool) {
	ops, deferred := w.next()
	if len(ops) == 0 {
		return
	}
	succeeded := false
	if h := w.health.get(); h.State == Stalled && !probe {
		w.fail(ops, deferred, h.Err)
	} else {
		caller := ctx
		limit := w.limit(ops...)
		w.until = time.Now().Add(limit)
		ctx, cancel := w.bounded(ctx, limit)
		defer cancel()
		err := stalled(caller, ctx, w.commit(ctx, ops))
		switch {
		case err == nil:
			w.keep(nil, nil)
		case errors.Is(err, errUncertain), errors.Is(err, ErrStalled), errors.Is(err, ErrMoved), len(ops) == 1 && deferred == 0:
			_, kind := kindOf(err)
			w.fail(ops, deferred, kind)
		default:
			err = w.apart(ctx, ops, deferred)
		}
		_ = w.health.wrote(err)
		succeeded = err == nil
	}
	for _, o := range ops[deferred:] {
		close(o.done)
	}
	w.mu.Lock()
	busy := len(w.waiting) > 0
	w.mu.Unlock()
	if succeeded && !busy && w.conn != nil {
		w.takeOver(ctx, w.statements)
	}
}

// fail keeps the deferred ops for later, and ends the others with an error.
func (w *writer) fail(ops []*op, deferred int, err error) {
	w.keep(ops[:deferred:deferred], err)
	for _, o := range ops[deferred:] {
		o.err = fmt.Errorf("writing: %w", err)
	}
}

// apart does each op in a transaction of its own, since one of them may be to blame. Those that nobody waits for stay
// together: they may be many. The error is that of the last, unless one succeeded.
func (w *writer) apart(ctx context.Context, ops []*op, deferred int) (all error) {
	succeeded := false
	do := func(ops []*op) error {
		err := w.commit(ctx, ops)
		all, succeeded = err, succeeded || err == nil
		return err
	}
	if deferred > 0 {
		early := ops[:deferred:deferred]
		if err := do(early); err != nil {
			w.keep(early, err)
		} else {
			w.keep(nil, nil)
		}
	}
	for _, o := range ops[deferred:] {
		if _, err := kindOf(do([]*op{o})); err != nil {
			o.err = fmt.Errorf("writing: %w", err)
		}
	}
	if succeeded {
		return nil
	}
	return all
}

// keep keeps deferred ops for the next time, and why.
func (w *writer) keep(ops []*op, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deferred = append(ops, w.deferred...)
	for _, o := range ops {
		if o.made != nil {
			w.unmade++
		}
	}
	if w.stuck = nil; len(ops) > 0 {
		w.stuck = err
		w.timer.Reset(w.opts.Linger)
	}
}

// commit does the ops in one transaction, and tries again where that may help. An op's own error is in the op; with an
// error of the transaction, none of them had an effect, unless it is errUncertain.
func (w *writer) commit(ctx context.Context, ops []*op) error {
	for _, o := range ops {
		if err := o.make(); err != nil {
			return err
		}
	}
	for attempt := 0; ; attempt++ {
		err := w.try(ctx, ops)
		if err == nil || errors.Is(err, errUncertain) {
			return err
		}
		lost := w.dialect.lost(err)
		if lost {
			w.disconnect()
		}
		if attempt == maxAttempts || ctx.Err() != nil || !(lost || w.dialect.conflict(err)) {
			return err
		}
		if time.Now().After(w.until) {
			return fmt.Errorf("%w: %w", ErrStalled, err)
		}
		pause(attempt)
	}
}

func (w *writer) newUnit(ops []*op) *unit {
	u := &unit{appender: appender{snapshot: snapshot{statements: w.statements}, bodies: &w.bodies, proofs: &w.proofs},
		prover: w.prover, ops: ops, doubt: w.doubt, draft: store.NewDraft(), proven: map[string]record.Kept{}, damaged: map[string]error{}}
	u.draft.Now = w.clock()
	return u
}

// try does one transaction.
func (w *writer) try(ctx context.Context, ops []*op) error {
	if err := w.place.checkWritable(); err != nil {
		return err
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	if len(ops) == 1 && ops[0].synced && w.opts.Unsynced {
		defer w.disconnect() // which the next connection does not
		if _, err := w.statements.exec(ctx, w.dialect.synced); err != nil {
			return err
		}
	}
	if _, err := w.statements.exec(ctx, w.dialect.begin); err != nil {
		w.disconnect() // it may be too old to be of use
		return err
	}
	if text := w.dialect.patient; text != "" && w.limit(ops...) == longWrite {
		if _, err := w.statements.exec(ctx, text); err != nil {
			w.disconnect()
			return err
		}
	}
	before, known := w.index.header()
	u := w.newUnit(ops)
	u.last = w.last.at(before, known)
	err := u.all(ctx)
	if err == nil {
		err = w.place.check()
	}
	if err == nil && u.wrote {
		w.doubt = u
		followed := false
		defer func() {
			if !followed {
				w.recent.forget()
			}
		}()
		_, err = w.statements.exec(ctx, "commit")
		if err != nil && w.dialect.lost(err) {
			if err = w.settle(ctx, u, err); err != nil {
				return err
			}
		}
		if err == nil {
			if err := u.anchored(ctx); err != nil {
				return err
			}
			w.doubt = nil
			u.committed()
			if known {
				followed, w.last = w.follow(before, u), u.last.after(u, before, &w.index)
			}
			return nil
		}
	}
	if _, rollback := w.statements.exec(ctx, "rollback"); rollback != nil {
		w.disconnect()
	}
	return err
}

// offer takes an op that nobody waits for, if there is room for it. It may be called by who has the turn.
func (w *writer) offer(o *op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.deferred) >= maxDeferred {
		return
	}
	w.deferred = append(w.deferred, o)
	w.timer.Reset(w.opts.Linger)
}
