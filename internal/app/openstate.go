package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/vault"
)

// exceptDenied returns the error of retention, unless it is that the role of the database may not erase events: that is told once.
func (o *stateOpener) exceptDenied(err error) error {
	if !errors.Is(err, sqlstore.ErrDenied) {
		return err
	}
	if !o.denied {
		o.log.Warn("events are kept longer than retention says", "error", err, "hint", ownerErases)
	}
	o.denied = true
	return nil
}

// A stateOpener opens the store and the records of a configuration.
type stateOpener struct {
	*home.Env
	config *config.Config
	log    *slog.Logger
	kept   *state
	target string        // the place of the database
	anchor *audit.Anchor // of its log
	denied bool          // it was told that retention may not erase events
}

// openState opens the place where the configuration wants state and events to be kept.
// also gets each event too, unless it is nil.
func openState(ctx context.Context, env *home.Env, c *config.Config, log *slog.Logger, also record.Recorder) (kept *state, err error) {
	kept = &state{}
	o := &stateOpener{Env: env, config: c, log: log, kept: kept}
	defer func() {
		if err != nil {
			err = errors.Join(err, kept.Close())
		}
	}()
	if c.Capture.Content && (c.Store == config.MemoryStore || c.Record == config.NoRecord) {
		return kept, remedy.Usage(errors.New("capture.content: there is no log beside which content could be kept"),
			"leave capture.content out, or store: memory and record: none")
	}
	if c.Store == config.MemoryStore {
		return kept, o.openMemory(also)
	}
	if err := o.openDatabase(ctx); err != nil {
		return kept, err
	}
	if c.Record != "" {
		file, err := openRecord(env, c, kept, log)
		if err != nil {
			return kept, err
		}
		also = together(file, also)
	}
	if c.Record == config.NoRecord {
		kept.record, kept.state = also, guard.NewState(session.New(session.Options{Store: kept.db}), also)
		expire := func(ctx context.Context, now time.Time) error {
			return errors.Join(expireOnly(ctx, kept.db, c.Retention, now), pruneNotes(env, c.Retention, now))
		}
		kept.closers = append(kept.closers, keepPruned(ctx, expire, log))
		return kept, nil
	}
	return kept, o.openLedger(ctx, also)
}

// openMemory keeps sessions in memory, and events in a file.
func (o *stateOpener) openMemory(also record.Recorder) error {
	o.kept.backend = store.NewMemory(nil)
	file, err := openRecord(o.Env, o.config, o.kept, o.log)
	o.kept.record = together(file, also)
	o.kept.state = guard.NewState(session.New(session.Options{Store: o.kept.backend}), o.kept.record)
	return err
}

// openDatabase opens the database that keeps sessions, with the anchor of its log.
func (o *stateOpener) openDatabase(ctx context.Context) (err error) {
	if o.target, err = o.StorePlace(o.config.Store); err != nil {
		return err
	}
	signer, err := signerOf(o.config.Checkpoints.Signer)
	if err != nil {
		return err
	}
	if o.anchor, err = OpenAnchor(o.Env, o.target, signer, o.log); err != nil {
		return err
	}
	o.kept.closers = append(o.kept.closers, o.anchor)
	db, err := OpenStore(ctx, o.target, &sqlstore.Options{
		Anchor: o.anchor, Unsynced: o.config.Durability == config.Relaxed, Told: telling(o.log), Damaged: tellingDamage(o.log)})
	if err != nil {
		return err
	}
	o.kept.closers = append(o.kept.closers, db)
	o.kept.backend, o.kept.db = db, db
	warnOfRole(ctx, db, o.log)
	key, err := o.CapturePath(o.target)
	if err == nil {
		o.kept.vault, err = vault.Open(ctx, db, capture.NewSealer(key), vault.Limits{})
	}
	return err
}

// openLedger opens the log of events in the database, which is pruned and published from now on.
func (o *stateOpener) openLedger(ctx context.Context, also record.Recorder) error {
	c := o.config
	if n, ok := also.(*notify.Notifier); ok && !n.Tells() {
		also = nil // so that events of plain reads are made after the answer
	}
	seal, err := sealer(o.Env, c.Capture, o.target)
	if err != nil {
		return err
	}
	l, err := ledger.New(ctx, ledger.Options{
		DB: o.kept.db, Anchor: o.anchor, Also: also, Logger: o.log, Strict: c.Durability == config.Strict, Seal: seal})
	if err != nil {
		return err
	}
	o.kept.record, o.kept.state = l, l.State()
	prune := func(ctx context.Context, now time.Time) error {
		return errors.Join(o.exceptDenied(pruneAll(ctx, l, c.Retention, now)), pruneNotes(o.Env, c.Retention, now))
	}
	o.kept.closers = append(o.kept.closers, l, keepPruned(ctx, prune, o.log))
	return o.kept.publish(c.Checkpoints, l, o.log)
}

// sealer returns the encryption of captured content; nil if none is captured.
func sealer(env *home.Env, c config.Capture, target string) (ledger.Sealer, error) {
	if !c.Content {
		return nil, nil
	}
	recipients := c.Recipients
	if len(recipients) == 0 {
		path, err := env.CapturePath(target)
		if err != nil {
			return nil, err
		}
		key, err := capture.OpenKey(path)
		if err != nil {
			return nil, err
		}
		if key.Recipient() == "" {
			return nil, remedy.Usage(fmt.Errorf("the key in %s has no public key that weir knows", path), "name it below capture.recipients")
		}
		recipients = []string{key.Recipient()}
	}
	box, err := capture.NewBox(recipients...)
	if err != nil {
		return nil, remedy.Usage(err, "see capture.recipients")
	}
	return box.Seal, nil
}

// openRecord opens the file that events are written to, and has the state close it.
func openRecord(env *home.Env, c *config.Config, kept *state, log *slog.Logger) (record.Recorder, error) {
	path := c.Record
	switch path {
	case config.NoRecord:
		log.Warn("no record is kept")
		return record.Discard(), nil
	case "":
		dir, err := env.StateDir()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "events.jsonl")
	}
	f, err := record.OpenFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("opening the record: %w", err), "name another file with --record, or none")
	}
	log.Info("recording", "file", path)
	kept.closers = append(kept.closers, f)
	return record.NewLines(f), nil
}
