package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// What keys a backup may come with, by what follows its name: the one that signs the log, that of the log's seal, and the one that
// reads what was captured.
const (
	keySuffix     = ".key"
	sealSuffix    = ".seal"
	captureSuffix = ".capture"
)

const (
	pgDump    = "use pg_dump, which is consistent while weir runs, and copy the log's anchor, which weir state names, apart from it"
	pgRestore = "use pg_restore into an empty database, and weir audit adopt"
)

func newStateBackup(env *Env, place *string) *cobra.Command {
	var keys bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the state, while weir runs",
		Long: `Write the store as it is at one moment to a new file, while others go on using it. The keys are
not in it: with --keys they are written too, as FILE.key, FILE.seal and FILE.capture. With the store
and its keys another log can be written, so keep them apart. What was erased is not in a backup, and what is
erased later stays in it: keep backups no longer than retention says.`,
		Example: "  weir state backup /backup/weir-2026-11-21.db\n  weir state backup --keys usb/weir.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) error {
				return env.backup(cmd.Context(), db, target, args[0], keys)
			})
		},
	}
	cmd.Flags().BoolVar(&keys, "keys", false, "write the keys too")
	return cmd
}

func (e *Env) backup(ctx context.Context, db *sqlstore.DB, target, path string, keys bool) error {
	err := db.Backup(ctx, path)
	switch {
	case errors.Is(err, sqlstore.ErrNoFile):
		return remedy.Usage(err, pgDump)
	case errors.Is(err, fs.ErrExist):
		return remedy.Usage(err, "name a file that is not there")
	case err != nil:
		return err
	}
	written := []string{path}
	if keys {
		all, err := e.keyFiles(target)
		if err != nil {
			return err
		}
		for _, suffix := range []string{keySuffix, sealSuffix, captureSuffix} {
			switch err := copyFile(all[suffix], path+suffix); {
			case err == nil:
				written = append(written, path+suffix)
			case !errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("copying a key: %w", err)
			}
		}
	}
	_, err = fmt.Fprintf(e.Stdout, "written: %s\n", strings.Join(written, ", "))
	return err
}

// keyFiles returns where the keys of a store are, by what follows the name of a backup.
func (e *Env) keyFiles(target string) (map[string]string, error) {
	dir, err := e.anchorDir(target)
	if err != nil {
		return nil, err
	}
	capture, err := e.capturePath(target)
	return map[string]string{keySuffix: filepath.Join(dir, "key"), sealSuffix: filepath.Join(dir, "seal"), captureSuffix: capture}, err
}

// copyFile copies a file to a new one, readable by its owner only, that is on disk when it returns.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

func newStateRestore(env *Env, place *string) *cobra.Command {
	var force, unsigned bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the state",
		Long: `Verify the log in a backup, under the keys FILE.key and FILE.seal or, without these, those of the store's
anchor, and put the backup in the place of the store, and its end in that of the anchor. A store that
is there is left alone unless --force is given; then it is moved away, if nobody has it open. Labels and
events since the backup are missing afterwards: weir audit verify --against a published checkpoint
tells. The log keeps that it was restored. A backup whose last entries are neither signed nor sealed, as
an earlier weir made them, is refused unless --unsigned is given.`,
		Example: "  weir state restore /backup/weir-2026-11-21.db\n  weir state restore --force /backup/weir-2026-11-21.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.Contains(*place, "://") {
				return remedy.Usage(sqlstore.ErrNoFile, pgRestore)
			}
			target := *place
			if target == "" {
				dir, err := env.stateDir()
				if err != nil {
					return err
				}
				target = filepath.Join(dir, "state.db")
			}
			return env.restore(cmd.Context(), args[0], target, force, unsigned)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "move a store away that is there")
	cmd.Flags().BoolVar(&unsigned, "unsigned", false, "take over entries that are neither signed nor sealed")
	return cmd
}

func (e *Env) restore(ctx context.Context, from, target string, force, unsigned bool) (err error) {
	_, err = os.Lstat(target)
	there := err == nil
	if there && !force {
		return remedy.Usage(fmt.Errorf("there is a store at %s", target), "with --force it is moved away")
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	fresh := target + ".restoring"
	if err := copyFile(from, fresh); err != nil {
		return remedy.Usage(fmt.Errorf("reading the backup: %w", err), "")
	}
	defer os.Remove(fresh) // once it is moved there is nothing to remove
	anchor, err := e.restorable(ctx, from, fresh, target, unsigned)
	if err != nil {
		return err
	}
	keys, err := e.keyFiles(target)
	if err != nil {
		return err
	}
	if there {
		away := fmt.Sprintf("%s.before-%s", target, time.Now().UTC().Format("20060102T150405.000"))
		err := sqlstore.Retire(ctx, target, away)
		if errors.Is(err, sqlstore.ErrInUse) {
			return remedy.Failure(err, "stop every weir on it first")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "moved away: %s\n", away)
	}
	if err := os.Rename(fresh, target); err != nil {
		return err
	}
	if err := anchor.Replace(filepath.Dir(keys[keySuffix])); err != nil {
		return err
	}
	return placeKey(from+captureSuffix, keys[captureSuffix])
}

// anchorOf returns an anchor with the keys that came with a backup, or else with those of the store.
func (e *Env) anchorOf(from, target string) (*audit.Anchor, error) {
	key, err := audit.ReadKey(from + keySuffix)
	if err == nil {
		seal, err := os.ReadFile(from + sealSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			return audit.NewAnchor(key), nil
		}
		if err != nil {
			return nil, err
		}
		return audit.WithSeal(key, string(seal))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	own, err := e.readAnchor(target)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, remedy.Usage(errors.New("there is no key for the log in the backup"), "put the key that signs the log beside the backup, as "+from+keySuffix)
	}
	return audit.WithSeal(own.Key(), own.SealKey())
}

// restorable verifies the copy of a backup, brings its schema up to date and has its log say that it was restored. It returns the anchor
// of that log.
func (e *Env) restorable(ctx context.Context, from, fresh, target string, unsigned bool) (anchor *audit.Anchor, err error) {
	if anchor, err = e.anchorOf(from, target); err != nil {
		return nil, err
	}
	report, err := verifyBackup(ctx, fresh, anchor.Key())
	if err != nil {
		return nil, err
	}
	if unsigned {
		report.Unchecked = nil
	}
	if report.Result() != audit.OK {
		return nil, e.printReport(verified{Report: report, State: &replay.Report{Proved: true}}, false)
	}
	db, err := sqlstore.Open(ctx, fresh, &sqlstore.Options{Anchor: anchor})
	if err != nil {
		return nil, remedy.Failure(fmt.Errorf("opening the backup: %w", err), "see whether the keys beside it are its own")
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	state, err := verifyState(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := e.printReport(verified{Report: report, State: state}, false); err != nil {
		return nil, err
	}
	return anchor, e.takeOver(ctx, db, anchor, fmt.Sprintf("a backup of %d entries", report.Size))
}

// verifyBackup verifies the log in a backup as it is. A seal, which nothing here checks, passes: opening the log checks that.
func verifyBackup(ctx context.Context, path string, key *audit.Key) (report *audit.Report, err error) {
	db, err := sqlstore.Open(ctx, path, &sqlstore.Options{Untouched: true})
	if err != nil {
		return nil, remedy.Failure(fmt.Errorf("opening the backup: %w", err), "")
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if report, err = audit.Verify(ctx, db.Log(), audit.VerifyOptions{Key: key.Verifier(), Elsewhere: true}); err != nil {
		return nil, err
	}
	if head, err := db.Log().Head(ctx); err != nil || len(head.Seal) > 0 {
		report.Unchecked = nil
		return report, err
	}
	return report, nil
}

// takeOver makes the log in a store that of an anchor in memory, and has it say so.
func (e *Env) takeOver(ctx context.Context, db *sqlstore.DB, anchor *audit.Anchor, message string) error {
	l, err := ledger.New(ctx, ledger.Options{DB: db, Anchor: anchor})
	if err != nil {
		return remedy.Failure(err, "the log is not one of its keys: see weir audit verify")
	}
	ev := record.New(record.Restore, time.Now())
	ev.Message, ev.Where = message, e.person()
	err = db.Adopt(ctx)
	if err == nil {
		err = l.Record(ctx, ev)
	}
	return errors.Join(err, l.Close())
}

// placeKey brings a key that came with a backup to its place. One that is there and is another is moved away.
func placeKey(from, to string) error {
	brought, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if own, err := os.ReadFile(to); err == nil {
		if string(own) == string(brought) {
			return nil
		}
		if err := os.Rename(to, fmt.Sprintf("%s.before-%d", to, time.Now().UnixNano())); err != nil {
			return err
		}
	}
	return copyFile(from, to)
}
