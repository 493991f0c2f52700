// Package approve carries questions to people and their answers back.
//
//	book := approve.NewBook(approve.Options{Record: recorder, Store: db})
//	p, err := book.Open(ctx, question, nil)
//	err = book.Answer(ctx, approve.Reply{ID: p.ID, Principal: "local", Answer: approve.Accepted, Via: "console"})
//
// A [Book] keeps questions in a [store.Approvals], which processes may share: whoever asks need not be who is answered. A
// question is answered once, by the principal whose call it is, before it expires; of several channels the first answer
// counts. An acceptance is bound to exactly the call that was asked about ([guard.Question], Binding), lets that call happen
// once, and expires like the question. No answer, a late answer and a second answer all mean no. Every question and
// every answer is recorded before it counts.
//
// What waits in a process ends with it: a call that was waiting when the process died does not happen. Its question stays
// until it expires, and an acceptance of it lets the same call happen once, if the agent makes it again and nothing that it is
// bound to has changed.
package approve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// DefaultTimeout is how long a question stays open.
const DefaultTimeout = 5 * time.Minute

// Bounds of the questions that wait in one process, of the answers of servers that wait with them, and of the new questions of
// one agent session in a minute. One more is refused, and so the call is. What is asked about again while it is open is
// the same question, and no new one.
const (
	maxOpen = 1000
	maxHeld = 256 << 20 // bytes
	maxRate = 120
)

// poll is how often an answer of another process is looked for, whether the store tells of it or not.
const poll = 250 * time.Millisecond

// Errors of answers that do not count.
var (
	ErrNoQuestion = errors.New("no such question is open")
	ErrPrincipal  = errors.New("the question is somebody else's")
	ErrTooMany    = errors.New("too many questions are open")
	ErrUnseen     = errors.New("the request does not show everything: a yes needs the code at the end of its listing")
	ErrNoGrant    = errors.New("it can be accepted once only: no overlay says which arguments are its destination")
)

// An Answer is what a person said.
type Answer string

// The answers. All but Accepted and Granted mean no.
const (
	Accepted  Answer = "accepted"
	Granted   Answer = "granted" // for the agent session and the destination; see [guard.Question], Grant
	Declined  Answer = "declined"
	Ended     Answer = "ended"     // declined, and the agent session may do nothing more
	Cancelled Answer = "cancelled" // dismissed without a choice, or the asking failed
	Expired   Answer = "expired"
)

// Yes reports whether the answer lets the call happen.
func (a Answer) Yes() bool { return a == Accepted || a == Granted }

// Options configures a Book.
type Options struct {
	Timeout time.Duration   // zero: DefaultTimeout
	Record  record.Recorder // required
	Store   store.Approvals // nil: in memory, for this book alone

	// Sessions tell from what a session descends; nil: calls that name their parent do.
	Sessions Sessions

	// Asked is told of each new question of this book, which waits for it to return; nil: nobody is.
	Asked func(*Book, *Pending)
}

// Sessions are the agent sessions that are kept: [session.Sessions].
type Sessions interface {
	// Snapshot returns a session as the store proves it. The error is [store.ErrNotFound] if it was never opened.
	Snapshot(ctx context.Context, key string) (store.Session, error)

	// List iterates over those of a principal or, for "", all.
	List(ctx context.Context, principal string) iter.Seq2[store.Session, error]
}

// maxGoing is the number of sessions that count as not ended without another look.
const maxGoing = 4096

// A Book holds open questions and unused acceptances. It is safe for concurrent use.
type Book struct {
	opts    Options
	timeout atomic.Int64 // of the next question

	restored guard.Accepted // acceptances that were given back
	onward   onward

	answering sync.Mutex // from finding a question open to closing it, so that no answer is recorded that came second here

	mu    sync.Mutex
	local map[string]*Pending             // questions of this process, by id
	held  int                             // bytes of the answers in local
	rates map[string]*bounded.Window      // of new questions, by agent session
	going *bounded.Map[string, time.Time] // by binding: when a session, by that and its parent, was seen not to have ended
	marks int                             // sessions that this process has marked as ended
}

// A Pending is an open question.
type Pending struct {
	ID        string // unguessable
	Principal string // whose answer counts
	Session   string // key of the agent session
	Binding   string
	Asked     time.Time
	Expires   time.Time
	Body

	Question *guard.Question // nil if another process asked
	Held     *Held           // the server's answer that the question is about; nil before the call

	closed bool // whether it was answered in this process; the book's lock guards it
}

// A Held is an answer of a server that waits for a person. The admission accepts it; if it is allowed as a whole, and the
// person is asked about a question in it, it has its outcome.
type Held struct {
	Admission *guard.Admission
	Answer    guard.Answer
	Outcome   *guard.Outcome
}

// A Body is what the store keeps of a question for who shows and answers it.
type Body struct {
	Prompt  Prompt `json:"prompt"`
	Listing        // what the prompt leaves out; only a local user is shown it
	Server  string `json:"server"`
	Method  string `json:"method"`
	Name    string `json:"name"` // as the server wrote it: hostile to whoever prints it
	Phase   string `json:"phase"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Parent  string `json:"parent,omitempty"` // key of the session that the session descends from
	Grant   string `json:"grant,omitempty"`  // set if it may be accepted for the session and the destination
}

// NewBook returns a book over the options' store.
func NewBook(opts Options) *Book {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Store == nil {
		opts.Store = store.NewMemory(nil)
	}
	b := &Book{opts: opts, local: map[string]*Pending{}, rates: map[string]*bounded.Window{}, going: bounded.NewMap[string, time.Time](maxGoing)}
	b.SetTimeout(opts.Timeout)
	return b
}

// SetTimeout has questions that are put from now on stay open for so long.
func (b *Book) SetTimeout(d time.Duration) { b.timeout.Store(int64(d)) }

// Open enters a question, with the server's answer that it is about, if there is one. While the same is open already, it
// returns that.
func (b *Book) Open(ctx context.Context, q *guard.Question, held *Held) (*Pending, error) {
	p, fresh, err := b.enter(ctx, q, held)
	if fresh && b.opts.Asked != nil {
		b.opts.Asked(b, p)
	}
	return p, err
}

// enter is Open, and reports whether the question is a new one.
func (b *Book) enter(ctx context.Context, q *guard.Question, held *Held) (p *Pending, fresh bool, err error) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	if p, err := b.same(ctx, q.Binding); p != nil || err != nil {
		return p, false, err
	}
	prompt := NewPrompt(q)
	p = &Pending{
		ID: rand.Text(), Principal: q.Session.Principal, Session: q.Session.Key, Binding: q.Binding, Asked: now,
		Expires: now.Add(time.Duration(b.timeout.Load())), Question: q, Held: held, Body: Body{
			Prompt: prompt, Listing: newListing(q, prompt), Server: q.Server, Method: q.Method, Name: q.Name, Phase: q.Phase.String(), Rule: q.Rule,
			Message: q.Message, Parent: q.Session.Parent, Grant: q.Grant,
		},
	}
	if err := b.add(ctx, p); err != nil {
		return nil, false, err
	}
	return p, true, nil
}

// add records a question and keeps it. The lock must be held.
func (b *Book) add(ctx context.Context, p *Pending) error {
	if len(b.local) >= maxOpen || b.held+p.size() > maxHeld || !b.mayAsk(p.Session, p.Asked) {
		return ErrTooMany
	}
	if err := b.write(ctx, p, "asked", Reply{}); err != nil {
		return err
	}
	body, err := json.Marshal(p.Body)
	if err != nil {
		return fmt.Errorf("writing a question: %w", err)
	}
	err = b.opts.Store.Ask(ctx, store.Question{ID: p.ID, Principal: p.Principal, Session: p.Session, Binding: p.Binding, Body: body, Expires: p.Expires})
	if err != nil {
		return mapped(err)
	}
	b.local[p.ID] = p
	b.held += p.size()
	return nil
}

// same returns the open question of this process with this binding; nil if there is none. The lock must be held.
func (b *Book) same(ctx context.Context, binding string) (*Pending, error) {
	for _, p := range b.local {
		if p.Binding != binding || p.closed {
			continue
		}
		said, err := b.said(ctx, p.ID)
		if err == nil && said == "" {
			return p, nil
		}
		if err != nil && !errors.Is(err, ErrNoQuestion) {
			return nil, err
		}
	}
	return nil, nil
}

// size returns the bytes of the answer that waits with the question.
func (p *Pending) size() int {
	if p.Held == nil {
		return 0
	}
	size := len(p.Held.Answer.Raw())
	if p.Held.Outcome != nil {
		size += len(p.Held.Outcome.Answer.Result)
	}
	return size
}

// forget drops what is too old. The map of questions is small (maxOpen), so a walk is cheap beside what asks.
func (b *Book) forget(now time.Time) {
	for _, p := range b.local {
		if !now.Before(p.Expires) {
			b.drop(p)
		}
	}
	for key, r := range b.rates {
		if r.Over(now) {
			delete(b.rates, key)
		}
	}
}

func (b *Book) drop(p *Pending) {
	delete(b.local, p.ID)
	b.held -= p.size()
}

func (b *Book) mayAsk(session string, now time.Time) bool {
	r := b.rates[session]
	if r == nil {
		r = &bounded.Window{Length: time.Minute}
		b.rates[session] = r
	}
	return r.Add(now) <= maxRate
}

// write records what became of a question, through which channel and by whom.
func (b *Book) write(ctx context.Context, p *Pending, effect string, r Reply) error {
	e := record.New(record.Approval, time.Now())
	e.Session, e.Principal = p.Session, p.Principal
	e.Server, e.Method, e.Name = p.Server, p.Method, p.Name
	e.Phase, e.Rule, e.Effect, e.Binding, e.Message, e.Where = p.Phase, p.Rule, effect, p.Binding, r.Via, r.By
	if err := b.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a question: %w", err)
	}
	return nil
}

// mapped returns the error of a store in this package's words.
func mapped(err error) error {
	switch {
	case errors.Is(err, store.ErrNoQuestion):
		return ErrNoQuestion
	case errors.Is(err, store.ErrPrincipal):
		return ErrPrincipal
	case errors.Is(err, store.ErrTooManyQuestions):
		return ErrTooMany
	}
	return err
}
