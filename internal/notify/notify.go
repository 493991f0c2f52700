// Package notify tells people who look at neither host nor console: of questions that wait for an answer, of content
// that a server says is malicious, and of servers that lose trust.
//
//	n := notify.New(notify.Options{Webhook: &notify.Webhook{URL: url, Secret: secret, Answers: true}, Logger: log})
//	gateway.Options{Asked: func(b *approve.Book, p *approve.Pending) { n.Asked(b, p) }}
//	ledger.Options{Also: n} // a Notifier reads the events of a record
//	defer n.Close()
//
// There are two channels: a [Webhook], which may also bring back the answer to a question, and the [Desktop] of the
// user. No call waits for either, and neither decides: a notification that fails is logged and counted
// ([Notifier.Counts]), and the question stays open for everybody else. What a person reads is a prompt of package
// approve, or text of the same kind: nothing of it can hide, reorder or imitate text. It is plain text, which whoever
// shows it must not render as markup.
//
// At most 256 notifications wait at one time; one more is dropped.
package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/record"
)

// maxWaiting bounds the notifications that are not delivered yet, over all channels.
const maxWaiting = 256

// Options configures a Notifier.
type Options struct {
	Webhook *Webhook         // nil: none
	Desktop *Desktop         // nil: none
	Logger  *slog.Logger     // nil: none
	Now     func() time.Time // the clock of signatures; nil: time.Now
}

// A Notifier sends notifications, each in a goroutine of its own. Make one with [New] and end it with Close. It is safe
// for concurrent use.
type Notifier struct {
	opts    Options
	hook    *hook // nil: none
	desktop *desk // nil: none
	counts  *counts

	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	waiting int
	sending sync.WaitGroup
}

// New returns a notifier. It starts nothing before there is something to tell.
func New(opts Options) *Notifier {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	n := &Notifier{opts: opts, counts: &counts{by: map[Count]int64{}}}
	n.life, n.end = context.WithCancel(context.Background())
	if opts.Webhook != nil {
		n.hook = newHook(*opts.Webhook, opts, n.counts)
	}
	if opts.Desktop != nil {
		n.desktop = &desk{Desktop: *opts.Desktop}
	}
	return n
}

// Close gives up notifications that were not delivered, and waits for those that are being sent.
func (n *Notifier) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.sending.Wait()
	if n.hook != nil {
		n.hook.client.CloseIdleConnections()
	}
	return nil
}

// Asked tells of a question, until it is answered or expires. It does not wait. A webhook's answer goes to book.
func (n *Notifier) Asked(book Answers, p *approve.Pending) {
	if n.hook != nil {
		m := askedMessage(p)
		n.run(webhookChannel, func() { n.hook.deliver(n.life, m, &errand{book: book, asked: p}) })
	}
	if n.desktop != nil {
		n.run(desktopChannel, func() { n.show(askedTitle, askedBrief(p)) })
	}
}

// Tells reports whether there is anybody to tell.
func (n *Notifier) Tells() bool { return n.hook != nil || n.desktop != nil }

// Record implements [record.Recorder]: it tells of events that are findings, and of servers that lose trust. It does
// not wait, and never fails.
func (n *Notifier) Record(_ context.Context, e *record.Event) error {
	switch {
	case isFinding(e):
		n.tell(findingTitle, e, findingMessage, findingBrief)
	case e.Kind == record.Trust && e.Effect == "lowered":
		n.tell(trustTitle, e, trustMessage, trustBrief)
	}
	return nil
}

// tell tells of an event over every channel.
func (n *Notifier) tell(title string, e *record.Event, whole func(*record.Event) message, brief func(*record.Event) string) {
	if n.hook != nil {
		m := whole(e)
		n.run(webhookChannel, func() { n.hook.deliver(n.life, m, nil) })
	}
	if n.desktop != nil {
		text := brief(e)
		n.run(desktopChannel, func() { n.show(title, text) })
	}
}

// Counts returns the outcomes of notifications, sorted by channel and result.
func (n *Notifier) Counts() []Count { return n.counts.sorted() }

// run does something in a goroutine of its own, unless too much waits already.
func (n *Notifier) run(channel string, do func()) {
	n.mu.Lock()
	full := n.waiting >= maxWaiting
	if !full && !n.closed {
		n.waiting++
		n.sending.Add(1)
	}
	closed := n.closed
	n.mu.Unlock()
	if closed {
		return
	}
	if full {
		n.counts.add(channel, Dropped)
		n.opts.Logger.Warn("a notification is dropped", "channel", channel, "waiting", maxWaiting)
		return
	}
	go func() {
		defer n.sending.Done()
		do()
		n.mu.Lock()
		n.waiting--
		n.mu.Unlock()
	}()
}

// show shows a notification on the desktop.
func (n *Notifier) show(title, text string) {
	switch err := n.desktop.show(n.life, title, text); {
	case err == errOften:
		n.counts.add(desktopChannel, Dropped)
	case err != nil:
		n.counts.add(desktopChannel, Failed)
		n.opts.Logger.Warn("showing a notification", "error", err)
	default:
		n.counts.add(desktopChannel, Delivered)
	}
}
