// Package approve keeps approval requests until a user answers them, and returns the answers.
//
//	book := approve.NewBook(approve.Options{Record: recorder, Store: db})
//	p, err := book.Open(ctx, question, nil)
//	err = book.Answer(ctx, approve.Reply{ID: p.ID, Principal: "local", Answer: approve.Accepted, Via: "console"})
//
// A [Book] keeps questions in a [store.Approvals], which processes may share: one process asks, and another may receive
// the answer. A question is answered once, by the principal of its call, before it expires; of several channels the
// first answer counts. An acceptance is bound to exactly the call of the question ([guard.Question], Binding), allows
// that call once, and expires like the question. No answer, a late answer and a second answer all mean no. Every
// question and every answer is recorded before it counts.
//
// A call that waits for an answer ends with its process, and does not happen. Its question stays until it expires, and
// an acceptance of it allows the same call once, if the agent repeats it and its binding is the same.
package approve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// DefaultTimeout is how long a question stays open.
const DefaultTimeout = 5 * time.Minute

// poll is how often an answer of another process is looked for, whether the store tells of it or not.
const poll = 250 * time.Millisecond

// Options configures a Book.
type Options struct {
	Timeout time.Duration   // zero: DefaultTimeout
	Record  record.Recorder // required
	Store   store.Approvals // nil: in memory, for this book alone

	// Sessions tell the parents of sessions; nil: calls name their parents.
	Sessions Sessions

	// Asked is told of each new question of this book, which waits for it to return; nil: nobody is.
	Asked func(*Book, *Pending)
}

// A Book holds open questions and unused acceptances. It is safe for concurrent use.
type Book struct {
	opts    Options
	timeout atomic.Int64 // of the next question

	restored guard.Accepted // acceptances that were given back
	onward   continuations
	local    openSet
	*marks

	answering sync.Mutex // from finding a question open to closing it, so that no answer is recorded that came second here
}

// NewBook returns a book over the options' store.
func NewBook(opts Options) *Book {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Store == nil {
		opts.Store = store.NewMemory(nil)
	}
	b := &Book{opts: opts, local: newOpenSet(), marks: newMarks(opts.Store, opts.Record, opts.Sessions)}
	b.SetTimeout(opts.Timeout)
	return b
}

// SetTimeout has questions that are put from now on stay open for so long.
func (b *Book) SetTimeout(d time.Duration) { b.timeout.Store(int64(d)) }

// Open enters a question, with the server's answer that it is about, if there is one. While the same is open already,
// it returns that.
func (b *Book) Open(ctx context.Context, q *guard.Question, held *Held) (*Pending, error) {
	p, fresh, err := b.enter(ctx, q, held)
	if fresh && b.opts.Asked != nil {
		b.opts.Asked(b, p)
	}
	return p, err
}

// Put returns when a question was put last: a call that is made again shows it again, and no one reads faster then.
func (b *Book) Put(p *Pending) time.Time {
	b.local.mu.Lock()
	defer b.local.mu.Unlock()
	if p.put.After(p.Asked) {
		return p.put
	}
	return p.Asked
}

// enter is Open, and reports whether the question is a new one.
func (b *Book) enter(ctx context.Context, q *guard.Question, held *Held) (p *Pending, fresh bool, err error) {
	now := time.Now()
	b.local.mu.Lock()
	defer b.local.mu.Unlock()
	b.local.expire(now)
	defer func() {
		if p != nil {
			p.put = now
		}
	}()
	if p, err := b.same(ctx, q.Binding); p != nil || err != nil {
		return p, false, err
	}
	prompt := approval.NewPrompt(q)
	if p, err := b.elsewhere(ctx, q, prompt, held); p != nil || err != nil {
		return p, false, err
	}
	p = &Pending{
		ID: rand.Text(), Principal: q.Session.Principal, Session: q.Session.Key, Binding: q.Binding, Asked: now,
		Expires: now.Add(time.Duration(b.timeout.Load())), Question: q, Held: held, Body: Body{
			Prompt: prompt, Listing: approval.NewListing(q, prompt), Server: q.Server, Method: q.Method, Name: q.Name, Phase: q.Phase.String(), Rule: q.Rule,
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
	if !b.local.admits(p) {
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
	b.local.add(p)
	return nil
}

// same returns the open question of this process with this binding; nil if there is none. The lock must be held.
func (b *Book) same(ctx context.Context, binding string) (*Pending, error) {
	for _, p := range b.local.byID {
		if p.Binding != binding || p.closed {
			continue
		}
		said, err := said(ctx, b.opts.Store, p.ID)
		if err == nil && said == "" {
			return p, nil
		}
		if err != nil && !errors.Is(err, ErrNoQuestion) {
			return nil, err
		}
	}
	return nil, nil
}

// elsewhere returns the open question with the binding of q that another process put, or this one before a restart; nil
// if there is none. It has to show the same call, and no answer of a server may wait for it. The lock must be held.
func (b *Book) elsewhere(ctx context.Context, q *guard.Question, prompt approval.Prompt, held *Held) (*Pending, error) {
	if held != nil || q.Phase != policy.OnCall || len(b.local.byID) >= maxOpen {
		return nil, nil
	}
	query := store.QuestionQuery{Principal: q.Session.Principal, Binding: q.Binding, Open: true}
	for kept, err := range b.opts.Store.Questions(ctx, query) {
		if err != nil {
			return nil, fmt.Errorf("reading questions: %w", err)
		}
		p, err := restore(kept)
		if err != nil || b.local.byID[kept.ID] != nil || p.Session != q.Session.Key || !showsCall(p.Prompt, prompt) {
			continue
		}
		p.Question = q
		b.local.add(p)
		return p, nil
	}
	return nil, nil
}

// showsCall reports whether two prompts show the same call. They may differ in the origins of its values.
func showsCall(a, b approval.Prompt) bool {
	return a.Lead == b.Lead && a.Effect == b.Effect && a.Subject == b.Subject && a.Unseen == b.Unseen && a.Note == b.Note &&
		slices.Equal(a.Reasons, b.Reasons) && slices.Equal(a.Arguments, b.Arguments) && slices.Equal(a.Full, b.Full)
}

// write records the effect of an answer on a question, with its channel and approver.
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

// GoesOn lets the call that an onward binding of the guard stands for go on once within a time: its server has answered
// it with a question.
func (b *Book) GoesOn(binding string, life time.Duration) {
	b.onward.add(binding, time.Now().Add(life))
}

// Restore gives back an acceptance that was redeemed for a call that has not happened, because of a further question.
func (b *Book) Restore(binding string, until time.Time) {
	if binding != "" {
		b.restored.Accept(binding, until)
	}
}

// Redeem implements [guard.Approvals].
func (b *Book) Redeem(ctx context.Context, binding string) (bool, error) {
	if b.onward.take(binding, time.Now()) {
		return true, nil
	}
	if ok, err := b.restored.Redeem(ctx, binding); ok || err != nil {
		return ok, err
	}
	if ok, err := b.opts.Store.Redeem(ctx, binding); ok || err != nil {
		return ok, err
	}
	return b.stands(ctx, grantPrefix+binding)
}

// HeldSession says why nothing may happen in an agent session: a person has ended it, or it is not the one that counts
// in its conversation, which is the one that a person has begun last, or else the first. The note of that is a file, so
// the store has to know it too.
func HeldSession(ctx context.Context, b *Book, ref session.Ref, first bool) (why string, err error) {
	ended, err := b.HasEnded(ctx, ref)
	if err != nil || ended {
		return "a person has ended this agent session; nothing more happens in it", err
	}
	past, err := b.IsPast(ctx, ref)
	counts := first
	if err == nil && !past && !first {
		counts, err = b.HasBegun(ctx, ref)
	}
	if err != nil || past || !counts {
		return "the store does not know this agent session as the one that counts in its conversation; begin a new one: weir session new", err
	}
	return "", nil
}

// MethodReload is the method that a question has which is about Weir's own configuration. No request has it.
const MethodReload = "weir/reload"

// A Proposal is a change of Weir's configuration that a user has to accept.
type Proposal struct {
	Principal string // whose answer counts
	File      string // where it is written
	Binding   string // stands for exactly this change
	Rule      string
	Ways      []string // the changes
}

// Propose enters the question whether a change may be taken over.
func (b *Book) Propose(ctx context.Context, p Proposal) (*Pending, error) {
	now := time.Now()
	prompt := approval.Prompt{
		Lead:    "Take over a configuration that loosens weir?",
		Subject: "It is in " + plain.Text(p.File, maxValue),
		Note:    "No answer means no: the configuration of before goes on.",
	}
	for _, w := range p.Ways {
		prompt.Reasons = append(prompt.Reasons, plain.Text(w, maxValue))
	}
	q := &Pending{
		ID: rand.Text(), Principal: p.Principal, Session: MethodReload, Binding: p.Binding, Asked: now, Expires: now.Add(time.Duration(b.timeout.Load())),
		Body: Body{Prompt: prompt, Method: MethodReload, Name: p.File, Rule: p.Rule, Message: "it loosens weir"},
	}
	b.local.mu.Lock()
	b.local.expire(now)
	err := b.add(ctx, q)
	b.local.mu.Unlock()
	if err == nil && b.opts.Asked != nil {
		b.opts.Asked(b, q)
	}
	return q, err
}
