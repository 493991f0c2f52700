// Package ledger writes events of package record into the log of a database, with the labels that they tell of.
//
//	l, err := ledger.New(ctx, ledger.Options{DB: db, Anchor: anchor})
//	gateway.Options{State: l.State()}
//	defer l.Close()
//
// A [Ledger] is a [record.Deferrer], and [Ledger.State] a [guard.State]: Record returns when the event is on disk;
// events given to Later are there within 50 ms and before Close returns; a label and its event are one transaction. An
// entry of the log is the event as JSON. Its chain is the agent session, its subject the server and the name called,
// its outcome the event's effect.
//
// A ledger has one goroutine of its own. It signs a checkpoint a second after an event, unless one was signed since,
// and a last one when it is closed. While the log cannot be signed, since it does not extend its anchor or the signer
// refuses, nothing is recorded: each call that needs its event fails. It tries again each second.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var _ record.Deferrer = (*Ledger)(nil)

// Options are the options of [New].
type Options struct {
	DB     *sqlstore.DB    // required; the ledger does not close it
	Anchor *audit.Anchor   // of the log; required
	Also   record.Recorder // gets each event first, but those of a session that is opened or decided on, which it gets next; nil: nobody
	Every  time.Duration   // how long an event may wait for a checkpoint; zero: a second
	Seal   Sealer          // encrypts the captured content of events, which is kept beside their entries; nil: it is dropped
	Strict bool            // Later, like Record, returns when the event is on disk
	Logger *slog.Logger    // for checkpoints that could not be signed; nil: none
}

// A Sealer encrypts captured content. It returns nil if there is none.
type Sealer func(*record.Content) ([]byte, error)

// A Ledger records events. Make one with [New], and close it.
type Ledger struct {
	opts    Options
	log     *audit.Log
	encoder record.Encoder
	grown   chan struct{} // takes one: there is something to sign
	refused atomic.Pointer[error]
	end     context.CancelFunc
	ended   chan struct{}
}

// New returns a ledger. The error is [audit.ErrKey] if the log is signed with another key, and [audit.ErrDamaged] if it
// does not extend its anchor.
func New(ctx context.Context, opts Options) (*Ledger, error) {
	log, err := audit.Open(ctx, opts.DB.Log(), opts.Anchor)
	if err != nil {
		return nil, err
	}
	if opts.Every <= 0 {
		opts.Every = time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	l := &Ledger{opts: opts, log: log, grown: make(chan struct{}, 1), end: end, ended: make(chan struct{})}
	go l.sign(ctx)
	return l, nil
}

// Close writes the deferred events and signs the last checkpoint.
func (l *Ledger) Close() error {
	l.end()
	<-l.ended
	ctx := context.Background()
	err := l.opts.DB.Flush(ctx)
	_, signErr := l.log.Checkpoint(ctx)
	if err := errors.Join(err, signErr); err != nil {
		return fmt.Errorf("closing the log: %w", err)
	}
	return nil
}

// sign signs checkpoints until ctx ends.
func (l *Ledger) sign(ctx context.Context) {
	defer close(l.ended)
	pause := time.NewTimer(l.opts.Every)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.grown:
		}
		pause.Reset(l.opts.Every)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if _, err := l.Checkpoint(ctx); ctx.Err() == nil {
			l.signed(err)
		}
	}
}

// signed notes how signing went.
func (l *Ledger) signed(err error) {
	before := l.Refused()
	switch {
	case err == nil:
		if l.refused.Store(nil); before != nil {
			l.opts.Logger.Info("the log is signed and written again")
		}
		return
	case errors.Is(err, audit.ErrDamaged), errors.Is(err, audit.ErrKey), errors.Is(err, audit.ErrSigner):
		l.refused.Store(&err)
	}
	l.touch()
	if before == nil || before.Error() != err.Error() {
		l.opts.Logger.Error("no checkpoint was signed", "error", err, "hint", "see weir audit verify")
	}
}

// Refused returns why nothing is recorded: the log is damaged, or cannot be signed. It is nil if all is well.
func (l *Ledger) Refused() error {
	if err := l.refused.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *Ledger) touch() {
	select {
	case l.grown <- struct{}{}:
	default:
	}
}

// Record implements [record.Recorder]: it returns when the event is on disk.
func (l *Ledger) Record(ctx context.Context, e *record.Event) error {
	entry, err := l.entry(ctx, e)
	if err != nil {
		return err
	}
	_, err = l.opts.DB.Log().Append(ctx, []audit.Entry{entry})
	l.touch()
	return err
}

// Later implements [record.Deferrer]. An event that others get first, or whose content is sealed, is made at once.
func (l *Ledger) Later(ctx context.Context, made func() *record.Event) error {
	if l.opts.Strict {
		return l.Record(ctx, made())
	}
	if l.opts.Also == nil && l.opts.Seal == nil {
		if err := l.Refused(); err != nil {
			return err
		}
		defer l.touch()
		var e *record.Event
		return l.opts.DB.DeferMade(ctx, func() (audit.Entry, error) { e = made(); return pack(&l.encoder, e) },
			func(err error) audit.Entry {
				l.opts.Logger.Error("an event could not be encoded; the log has another one in its place", "event", e.ID, "error", err)
				return instead(&l.encoder, e, err)
			})
	}
	entry, err := l.entry(ctx, made())
	if err != nil {
		return err
	}
	if len(entry.Aside) > maxDeferredAside {
		_, err = l.opts.DB.Log().Append(ctx, []audit.Entry{entry})
	} else {
		err = l.opts.DB.Defer(ctx, entry)
	}
	l.touch()
	return err
}

// maxDeferredAside bounds the captured content of a deferred event, in bytes: many of them wait in memory.
const maxDeferredAside = 64 << 10

// State returns the sessions of the ledger's database, with the ledger as their record.
func (l *Ledger) State() guard.State {
	return &state{l, session.New(session.Options{Store: l.opts.DB})}
}

// Lower takes something out of the label of a session and of its descendants, with the event, at a person's word; see
// [store.Custodian].
func (l *Ledger) Lower(ctx context.Context, key string, drop label.Label, e *record.Event) ([]store.Rise, error) {
	entry, err := l.entry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer l.touch()
	return l.opts.DB.LowerNoted(ctx, key, drop, entry)
}

// End removes a session and its descendants, with the event, at a person's word; see [store.Custodian].
func (l *Ledger) End(ctx context.Context, key string, e *record.Event) ([]string, error) {
	entry, err := l.entry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer l.touch()
	return l.opts.DB.EndNoted(ctx, key, entry)
}

// Log returns the log that events are written to.
func (l *Ledger) Log() *audit.Log { return l.log }

// Checkpoint returns a checkpoint over all recorded events, deferred ones too; see [audit.Log.Checkpoint].
func (l *Ledger) Checkpoint(ctx context.Context) ([]byte, error) {
	if err := l.opts.DB.Flush(ctx); err != nil {
		return nil, err
	}
	return l.log.Checkpoint(ctx)
}

// Consistency is [audit.Log.Consistency] of the log.
func (l *Ledger) Consistency(ctx context.Context, old, size int64) ([]tlog.Hash, error) {
	return l.log.Consistency(ctx, old, size)
}

// entry returns the event as an entry, once whoever else records has it.
func (l *Ledger) entry(ctx context.Context, e *record.Event) (audit.Entry, error) {
	if err := l.also(ctx, e); err != nil {
		return audit.Entry{}, err
	}
	return l.encode(e)
}

// also gives events to whoever else records.
func (l *Ledger) also(ctx context.Context, events ...*record.Event) error {
	if l.opts.Also == nil {
		return nil
	}
	for _, e := range events {
		if err := l.opts.Also.Record(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// encode returns the event as an entry.
func (l *Ledger) encode(e *record.Event) (audit.Entry, error) {
	if err := l.Refused(); err != nil {
		return audit.Entry{}, err
	}
	entry, err := pack(&l.encoder, e)
	if err == nil && l.opts.Seal != nil {
		entry.Aside, err = l.opts.Seal(e.Content)
	}
	return entry, err
}

// pack returns the event as an entry without captured content.
func pack(by *record.Encoder, e *record.Event) (audit.Entry, error) {
	body, err := by.Encode(e)
	if err != nil {
		return audit.Entry{}, fmt.Errorf("encoding event: %w", err)
	}
	return audit.Entry{
		Time: e.Time, Chain: word(e.Session), Kind: word(string(e.Kind)), Subject: Subject(e), Outcome: word(e.Effect), Body: body,
	}, nil
}

// instead returns the entry in the place of an event that cannot be written as it is: with its words alone, and why.
func instead(by *record.Encoder, e *record.Event, why error) audit.Entry {
	bare := record.Event{V: e.V, ID: word(e.ID), Time: e.Time, Kind: record.Kind(word(string(e.Kind))), Session: word(e.Session),
		Parent: word(e.Parent), Principal: word(e.Principal), Call: word(e.Call), Server: word(e.Server), Method: word(e.Method),
		Name: word(e.Name), Phase: word(e.Phase), Effect: word(e.Effect), Rule: word(e.Rule),
		Message: "the event could not be encoded: " + word(why.Error())}
	entry, _ := pack(by, &bare) // nothing but texts
	if strings.HasPrefix(entry.Chain, record.StateChain) {
		entry.Chain = "" // of the state alone
	}
	return entry
}

// Subject returns the subject of an event's entry: the server and the name called.
func Subject(e *record.Event) string {
	if e.Server == "" && e.Name == "" {
		return ""
	}
	return word(e.Server + "/" + e.Name)
}

// maxWord bounds words that hosts and servers choose, in bytes.
const maxWord = 1024

// word returns a text that a log can search for: servers may send anything.
func word(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxWord)], "")
	return strings.ReplaceAll(s, "\x00", "")
}
