package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// The suffixes of the keys that a backup may come with: the one that signs the log, that of the log's seal, and the one
// that reads captured content.
const (
	keySuffix     = ".key"
	sealSuffix    = ".seal"
	captureSuffix = ".capture"
)

const (
	pgDump    = "use pg_dump, which is consistent while weir runs, and copy the log's anchor, which weir state names, apart from it"
	pgRestore = "use pg_restore into an empty database, and weir audit adopt"
)

func newStateBackup(env *home.Env, place *string) *cobra.Command {
	var keys bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the state, while weir runs",
		Long: `Write the store as it is at one moment to a new file, while others go on using it. The keys are
not in it: with --keys they are written too, as FILE.key, FILE.seal and FILE.capture. With the store
and its keys another log can be written, so keep them apart. A backup holds no event that was erased
before it, and keeps events that are erased later: keep backups no longer than retention says.`,
		Example: "  weir state backup /backup/weir-2026-11-21.db\n  weir state backup --keys usb/weir.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), env, *place, func(db *sqlstore.DB, target string) error {
				var all map[string]string
				if keys {
					var err error
					if all, err = keyFiles(env, target); err != nil {
						return err
					}
				}
				return backUp(cmd.Context(), env, db, args[0], all)
			})
		},
	}
	cmd.Flags().BoolVar(&keys, "keys", false, "write the keys too")
	return cmd
}

// backUp writes the store to a file, and the keys beside it as [keyFiles] names them.
func backUp(ctx context.Context, env *home.Env, db *sqlstore.DB, path string, keys map[string]string) error {
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
	for _, suffix := range []string{keySuffix, sealSuffix, captureSuffix} {
		if keys == nil {
			break
		}
		switch err := home.CopyFile(keys[suffix], path+suffix); {
		case err == nil:
			written = append(written, path+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("copying a key: %w", err)
		}
	}
	_, err = fmt.Fprintf(env.Stdout, "written: %s\n", strings.Join(written, ", "))
	return err
}

// keyFiles returns the files of a store's keys, by the suffix that each has in a backup.
func keyFiles(env *home.Env, target string) (map[string]string, error) {
	dir, err := env.AnchorDir(target)
	if err != nil {
		return nil, err
	}
	capture, err := env.CapturePath(target)
	return map[string]string{keySuffix: filepath.Join(dir, "key"), sealSuffix: filepath.Join(dir, "seal"), captureSuffix: capture}, err
}

func newStateRestore(env *home.Env, place *string) *cobra.Command {
	var r restoration
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
			target, err := env.StorePlace(*place)
			if err != nil {
				return err
			}
			r.from, r.target = args[0], target
			return restore(cmd.Context(), env, &r)
		},
	}
	r.force.flag(cmd, env, "force", "move a store away that is there")
	cmd.Flags().BoolVar(&r.unsigned, "unsigned", false, "take over entries that are neither signed nor sealed")
	return cmd
}

// A restoration is a backup that is to take the place of a store.
type restoration struct {
	from, target string
	force        gate // a store there may be moved away
	unsigned     bool // entries may be neither signed nor sealed
}

func restore(ctx context.Context, env *home.Env, r *restoration) (err error) {
	from, target := r.from, r.target
	_, err = os.Lstat(target)
	there := err == nil
	if there && !r.force.wanted {
		return remedy.Usage(fmt.Errorf("there is a store at %s", target), "with --force it is moved away")
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	fresh := target + ".restoring"
	if err := home.CopyFile(from, fresh); err != nil {
		return remedy.Usage(fmt.Errorf("reading the backup: %w", err), "")
	}
	defer os.Remove(fresh) // once it is moved there is nothing to remove
	anchor, err := restorable(ctx, env, r, fresh)
	if err != nil {
		return err
	}
	keys, err := keyFiles(env, target)
	if err != nil {
		return err
	}
	if there {
		if err := r.force.pass(ctx, env, "move a store away", "Replace the store that is there, with its later labels and events?"); err != nil {
			return err
		}
		if _, err := retireOwner(ctx, env); err != nil {
			return err
		}
		away := fmt.Sprintf("%s.before-%s", target, time.Now().UTC().Format("20060102T150405.000"))
		err := sqlstore.Retire(ctx, target, away)
		if errors.Is(err, sqlstore.ErrInUse) {
			return remedy.Failure(err, "stop every weir on it first")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "moved away: %s\n", away)
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
func anchorOf(env *home.Env, from, target string) (*audit.Anchor, error) {
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
	own, err := app.ReadAnchor(env, target)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, remedy.Usage(errors.New("there is no key for the log in the backup"),
			"put the key that signs the log beside the backup, as "+from+keySuffix)
	}
	return audit.WithSeal(own.Key(), own.SealKey())
}

// restorable verifies the copy of a backup, brings its schema up to date and has its log say that it was restored. It
// returns the anchor of that log.
func restorable(ctx context.Context, env *home.Env, r *restoration, fresh string) (anchor *audit.Anchor, err error) {
	if anchor, err = anchorOf(env, r.from, r.target); err != nil {
		return nil, err
	}
	report, err := verifyBackup(ctx, fresh, anchor.Key())
	if err != nil {
		return nil, err
	}
	if r.unsigned {
		report.Unchecked = nil
	}
	if report.Result() != audit.OK {
		return nil, printReport(env, verified{Report: report, State: &replay.Report{Proved: true}}, false)
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
	if err := printReport(env, verified{Report: report, State: state}, false); err != nil {
		return nil, err
	}
	return anchor, takeOver(ctx, env, db, anchor, fmt.Sprintf("a backup of %d entries", report.Size))
}

// verifyBackup verifies the log in a backup as it is. A seal, which nothing here checks, passes: opening the log checks
// that.
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
func takeOver(ctx context.Context, env *home.Env, db *sqlstore.DB, anchor *audit.Anchor, message string) error {
	l, err := ledger.New(ctx, ledger.Options{DB: db, Anchor: anchor})
	if err != nil {
		return remedy.Failure(err, "the log is not one of its keys: see weir audit verify")
	}
	ev := record.New(record.Restore, time.Now())
	ev.Message, ev.Where = message, env.Person()
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
	return home.CopyFile(from, to)
}
