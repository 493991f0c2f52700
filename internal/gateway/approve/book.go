// Package approve carries questions to people and their answers back.
//
// A [Book] holds the questions that are open and the acceptances that are not used up. A question is answered once, by the
// principal whose call it is, before it expires. An acceptance is bound to exactly the call that was asked about
// ([guard.Question], Binding), lets that call happen once, and expires like the question. No answer, a late answer,
// a second answer and a restart all mean no. Every question and every answer is recorded before it counts.
package approve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/record"
)

// DefaultTimeout is how long a question stays open.
const DefaultTimeout = 5 * time.Minute

// Bounds of the questions that are open at one time, and of the answers of servers that wait with them. One more is
// refused, and so the call is.
const (
	maxOpen = 1000
	maxHeld = 256 << 20 // bytes
)

// Errors of answers that do not count.
var (
	ErrNoQuestion = errors.New("no such question is open")
	ErrPrincipal  = errors.New("the question is somebody else's")
	ErrTooMany    = errors.New("too many questions are open")
)

// An Answer is what a person said.
type Answer string

// The answers. All but Accepted mean no.
const (
	Accepted  Answer = "accepted"
	Declined  Answer = "declined"
	Cancelled Answer = "cancelled" // dismissed without a choice, or the asking failed
	Expired   Answer = "expired"
)

// Options configures a Book.
type Options struct {
	Timeout time.Duration   // zero: DefaultTimeout
	Record  record.Recorder // required
}

// A Book holds open questions and unused acceptances. It is safe for concurrent use.
type Book struct {
	opts    Options
	timeout atomic.Int64 // of the next question

	accepted guard.Accepted
	onward   onward

	mu   sync.Mutex
	open map[string]*Pending // by id
	held int                 // bytes of the answers in open
}

// A Pending is an open question.
type Pending struct {
	ID       string // unguessable
	Question *guard.Question
	Held     *guard.Answer // the server's answer that the question is about; nil before the call
	Expires  time.Time
}

// NewBook returns an empty book.
func NewBook(opts Options) *Book {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	b := &Book{opts: opts, open: map[string]*Pending{}}
	b.SetTimeout(opts.Timeout)
	return b
}

// SetTimeout has questions that are put from now on stay open for so long.
func (b *Book) SetTimeout(d time.Duration) { b.timeout.Store(int64(d)) }

// Open enters a question, with the server's answer that it is about, if there is one.
func (b *Book) Open(ctx context.Context, q *guard.Question, held *guard.Answer) (*Pending, error) {
	now := time.Now()
	p := &Pending{ID: rand.Text(), Question: q, Held: held, Expires: now.Add(time.Duration(b.timeout.Load()))}
	if err := b.write(ctx, p, "asked"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	if len(b.open) >= maxOpen || b.held+p.size() > maxHeld {
		return nil, ErrTooMany
	}
	b.open[p.ID] = p
	b.held += p.size()
	return p, nil
}

// size returns the bytes of the answer that waits with the question.
func (p *Pending) size() int {
	if p.Held == nil {
		return 0
	}
	return len(p.Held.Raw())
}

// close takes a question off the book.
func (b *Book) close(p *Pending) {
	delete(b.open, p.ID)
	b.held -= p.size()
}

// Find returns the open question with this id, if it is the principal's.
func (b *Book) Find(id, principal string) (*Pending, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(time.Now())
	return b.find(id, principal)
}

func (b *Book) find(id, principal string) (*Pending, error) {
	p, ok := b.open[id]
	switch {
	case !ok:
		return nil, ErrNoQuestion
	case p.Question.Session.Principal != principal:
		return nil, ErrPrincipal
	}
	return p, nil
}

// Answer closes the question with this id. Only Accepted lets the call happen, and only if it could be recorded.
func (b *Book) Answer(ctx context.Context, id, principal string, a Answer) error {
	b.mu.Lock()
	b.expire(time.Now())
	p, err := b.find(id, principal)
	if err == nil {
		b.close(p)
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	if err := b.write(ctx, p, string(a)); err != nil || a != Accepted {
		return err
	}
	b.accepted.Accept(p.Question.Binding, p.Expires)
	return nil
}

// expire forgets what is too old. The map of questions is small (maxOpen), so a walk is cheap beside what asks.
func (b *Book) expire(now time.Time) {
	for _, p := range b.open {
		if !now.Before(p.Expires) {
			b.close(p)
		}
	}
}

func (b *Book) write(ctx context.Context, p *Pending, effect string) error {
	q := p.Question
	e := record.New(record.Approval, time.Now())
	e.Session, e.Principal = q.Session.Key, q.Session.Principal
	e.Server, e.Method, e.Name = q.Server, q.Method, q.Name
	e.Phase, e.Rule, e.Effect, e.Binding = q.Phase.String(), q.Rule, effect, q.Binding
	if err := b.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a question: %w", err)
	}
	return nil
}
