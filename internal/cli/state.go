package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A state is what a weir that serves keeps, and how.
type state struct {
	sessions *session.Sessions
	backend  store.Backend // of sessions, questions and all else that is no event
	record   record.Recorder
	db       *sqlstore.DB // nil: there is none
	closers  []io.Closer  // in the order in which they were opened
}

// refused returns why no event can be recorded; nil if all is well.
func (s *state) refused() error {
	if l, ok := s.record.(*ledger.Ledger); ok {
		return l.Refused()
	}
	return nil
}

// Close writes what was deferred and closes what was opened.
func (s *state) Close() error {
	var all error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = errors.Join(all, s.closers[i].Close())
	}
	s.closers = nil
	return all
}

// A stateOpener opens what a configuration has kept.
type stateOpener struct {
	*Env
	config *config.Config
	log    *slog.Logger
	kept   *state
	target string        // the place of the database
	anchor *audit.Anchor // of its log
	denied bool          // it was told that retention may not erase events
}

// openState opens the place where the configuration wants state and events to be kept.
// also gets each event too, unless it is nil.
func (e *Env) openState(ctx context.Context, c *config.Config, log *slog.Logger, also record.Recorder) (kept *state, err error) {
	kept = &state{}
	o := &stateOpener{Env: e, config: c, log: log, kept: kept}
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
		file, err := e.openRecord(c, kept, log)
		if err != nil {
			return kept, err
		}
		also = together(file, also)
	}
	if c.Record == config.NoRecord {
		kept.record = also
		expire := func(ctx context.Context, now time.Time) error {
			return errors.Join(expireOnly(ctx, kept.db, c.Retention, now), e.pruneNotes(c.Retention, now))
		}
		kept.closers = append(kept.closers, keepPruned(ctx, expire, log))
		return kept, nil
	}
	return kept, o.openLedger(ctx, also)
}

// openMemory keeps sessions in memory, and events in a file.
func (o *stateOpener) openMemory(also record.Recorder) error {
	o.kept.backend = store.NewMemory(nil)
	o.kept.sessions = session.New(session.Options{Store: o.kept.backend})
	file, err := o.openRecord(o.config, o.kept, o.log)
	o.kept.record = together(file, also)
	return err
}

// openDatabase opens the database that keeps sessions, with the anchor of its log.
func (o *stateOpener) openDatabase(ctx context.Context) (err error) {
	if o.target, err = o.storePlace(o.config.Store); err != nil {
		return err
	}
	signer, err := signerOf(o.config.Checkpoints.Signer)
	if err != nil {
		return err
	}
	if o.anchor, err = o.openAnchor(o.target, signer, o.log); err != nil {
		return err
	}
	db, err := openStore(ctx, o.target, &sqlstore.Options{
		Anchor: o.anchor, Unsynced: o.config.Durability == config.Relaxed, Told: telling(o.log), Damaged: tellingDamage(o.log)})
	if err != nil {
		return err
	}
	o.kept.closers = append(o.kept.closers, db)
	o.kept.backend, o.kept.db = db, db
	o.kept.sessions = session.New(session.Options{Store: db})
	warnOfRole(ctx, db, o.log)
	return nil
}

// openLedger opens the log of events in the database, which is pruned and published from now on.
func (o *stateOpener) openLedger(ctx context.Context, also record.Recorder) error {
	c := o.config
	seal, err := o.sealer(c.Capture, o.target)
	if err != nil {
		return err
	}
	l, err := ledger.New(ctx, ledger.Options{
		DB: o.kept.db, Anchor: o.anchor, Also: also, Logger: o.log, Strict: c.Durability == config.Strict, Seal: seal})
	if err != nil {
		return err
	}
	o.kept.record = l
	prune := func(ctx context.Context, now time.Time) error {
		return errors.Join(o.exceptDenied(pruneAll(ctx, l, c.Retention, now)), o.pruneNotes(c.Retention, now))
	}
	o.kept.closers = append(o.kept.closers, l, keepPruned(ctx, prune, o.log))
	return o.kept.publish(c.Checkpoints, l, o.log)
}

// A pair gives each event to one recorder, and then to another.
type pair [2]record.Recorder

// together returns a recorder for two, either of which may be nil.
func together(first, second record.Recorder) record.Recorder {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return pair{first, second}
}

// Record implements [record.Recorder].
func (p pair) Record(ctx context.Context, e *record.Event) error {
	if err := p[0].Record(ctx, e); err != nil {
		return err
	}
	return p[1].Record(ctx, e)
}

// sealer returns what encrypts captured content; nil if none is captured.
func (e *Env) sealer(c config.Capture, target string) (ledger.Sealer, error) {
	if !c.Content {
		return nil, nil
	}
	recipients := c.Recipients
	if len(recipients) == 0 {
		path, err := e.capturePath(target)
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

// capturePath returns where the key is that reads what was captured: beside the store's file, or in the state directory.
func (e *Env) capturePath(target string) (string, error) {
	if !strings.Contains(target, "://") {
		return target + ".capture", nil
	}
	dir, err := e.stateDir()
	return filepath.Join(dir, "capture.key"), err
}

// storePlace returns where a store is; "" is the default place.
func (e *Env) storePlace(place string) (string, error) {
	if place != "" {
		return place, nil
	}
	dir, err := e.stateDir()
	return filepath.Join(dir, "state.db"), err
}

// openStore opens the store at a place.
func openStore(ctx context.Context, target string, opts *sqlstore.Options) (*sqlstore.DB, error) {
	db, err := sqlstore.Open(ctx, target, opts)
	if err != nil {
		if hinted := anchorHint(err, opts); hinted != nil {
			return nil, hinted
		}
		return nil, remedy.Usage(fmt.Errorf("opening the store: %w", err), storeHint(err, target))
	}
	return db, nil
}

// storeHint says what helps against an error of the store at a target. To go on without its labels never is that.
func storeHint(err error, target string) string {
	server := strings.Contains(target, "://")
	switch {
	case errors.Is(err, sqlstore.ErrDenied):
		return "have the owner of the tables run weir state init --store postgres://OWNER@HOST/DATABASE"
	case errors.Is(err, sqlstore.ErrSchema):
		return ""
	case errors.Is(err, audit.ErrDamaged):
		return damagedHint
	case errors.Is(err, audit.ErrSigner):
		return "see why the program of audit.signer does not sign"
	case errors.Is(err, sqlstore.ErrMoved) && !errors.Is(err, sqlstore.ErrExposed):
		return "bring the same file back, or restore a backup with weir state restore and start weir again"
	case errors.Is(err, sqlstore.ErrExposed):
		return "find out who changed that; then chmod 600 " + target + "*"
	case server && errors.Is(err, sqlstore.ErrStalled):
		return "the database server, or the way to it, does not answer: look into its log, and at locks in pg_stat_activity"
	case errors.Is(err, sqlstore.ErrStalled):
		return "another process holds its lock, or the disk does not answer: weir status lists who uses it"
	case server:
		return "see whether the database server runs, and lets this user in from here"
	}
	return "weir has to be able to read and write it; name another place with --store"
}

// telling logs how the store does whenever that changes.
func telling(log *slog.Logger) func(sqlstore.Health) {
	return func(h sqlstore.Health) {
		if h.State == sqlstore.OK {
			log.Info("the store works again")
			return
		}
		log.Error("the store does not work; calls are refused", "state", string(h.State), "error", h.Err)
	}
}

// openRecord opens the file that events are written to, and adds it to what is closed.
func (e *Env) openRecord(c *config.Config, kept *state, log *slog.Logger) (record.Recorder, error) {
	path := c.Record
	switch path {
	case config.NoRecord:
		log.Warn("no record is kept")
		return record.Discard(), nil
	case "":
		dir, err := e.stateDir()
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

// stateDir returns the directory where weir keeps what it must remember, as the XDG Base Directory
// Specification has it.
func (e *Env) stateDir() (string, error) {
	if dir, _ := e.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir"), nil
	}
	if home, _ := e.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "weir"), nil
	}
	return "", remedy.Usage(errors.New("no place for the state: neither XDG_STATE_HOME nor HOME is set"),
		"set HOME, or name a file with --store")
}

// showTarget returns a target without the password that may be in it.
func showTarget(target string) string {
	if u, err := url.Parse(target); err == nil && strings.Contains(target, "://") {
		return u.Redacted()
	}
	return target
}
