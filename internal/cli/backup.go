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
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// What stands beside a store: the key that signs its log, and the one that reads what was captured.
var beside = []string{".key", ".capture"}

const (
	pgDump    = "use pg_dump, which is consistent while weir runs, and copy the keys of the state directory apart from it"
	pgRestore = "use pg_restore into an empty database, and weir audit verify"
)

func newStateBackup(env *Env, place *string) *cobra.Command {
	var keys bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the state, while weir runs",
		Long: `Write the store as it is at one moment to a new file, while others go on using it. The keys are
not in it: with --keys they are written too, as FILE.key and FILE.capture. Who has the store
and its key can write another log, so keep them apart. What was erased is not in a backup, and what is
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
		return &failure{exitUsage, err, pgDump}
	case errors.Is(err, fs.ErrExist):
		return &failure{exitUsage, err, "name a file that is not there"}
	case err != nil:
		return err
	}
	written := []string{path}
	for _, suffix := range beside {
		if !keys {
			break
		}
		switch err := copyFile(target+suffix, path+suffix); {
		case err == nil:
			written = append(written, path+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("copying a key: %w", err)
		}
	}
	_, err = fmt.Fprintf(e.Stdout, "written: %s\n", strings.Join(written, ", "))
	return err
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
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the state",
		Long: `Verify the log in a backup, under the key FILE.key or, without that, the key beside the store, and put
the backup in the place of the store. A store that is there is left alone unless --force is given; then
it is moved away, if nobody has it open. Labels and events since the backup are missing afterwards:
weir audit verify --against a published checkpoint tells. The log keeps that it was restored.`,
		Example: "  weir state restore /backup/weir-2026-11-21.db\n  weir state restore --force /backup/weir-2026-11-21.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.Contains(*place, "://") {
				return &failure{exitUsage, sqlstore.ErrNoFile, pgRestore}
			}
			target := *place
			if target == "" {
				dir, err := env.stateDir()
				if err != nil {
					return err
				}
				target = filepath.Join(dir, "state.db")
			}
			return env.restore(cmd.Context(), args[0], target, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "move a store away that is there")
	return cmd
}

func (e *Env) restore(ctx context.Context, from, target string, force bool) (err error) {
	_, err = os.Lstat(target)
	there := err == nil
	if there && !force {
		return &failure{exitUsage, fmt.Errorf("there is a store at %s", target), "with --force it is moved away"}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	fresh := target + ".restoring"
	if err := copyFile(from, fresh); err != nil {
		return &failure{exitUsage, fmt.Errorf("reading the backup: %w", err), ""}
	}
	defer os.Remove(fresh) // once it is moved there is nothing to remove
	keyFile, err := e.restorable(ctx, from, fresh, target)
	if err != nil {
		return err
	}
	if there {
		away := fmt.Sprintf("%s.before-%s", target, time.Now().UTC().Format("20060102T150405.000"))
		err := sqlstore.Retire(ctx, target, away)
		if errors.Is(err, sqlstore.ErrInUse) {
			return &failure{exitFailure, err, "stop every weir on it first"}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "moved away: %s\n", away)
	}
	if err := os.Rename(fresh, target); err != nil {
		return err
	}
	return e.placeKeys(from, target, keyFile)
}

// restorable verifies the copy of a backup, brings its schema up to date and has its log say that it was restored. It returns
// the file of the key that signs it.
func (e *Env) restorable(ctx context.Context, from, fresh, target string) (keyFile string, err error) {
	db, err := sqlstore.Open(ctx, fresh, nil)
	if err != nil {
		return "", &failure{exitFailure, fmt.Errorf("opening the backup: %w", err), ""}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	keyFile = from + beside[0]
	if _, err := os.Stat(keyFile); errors.Is(err, fs.ErrNotExist) {
		keyFile = target + beside[0]
	}
	key, err := audit.ReadKey(keyFile)
	if err != nil {
		return "", &failure{exitUsage, err, "put the key that signs the log beside the backup, as " + from + beside[0]}
	}
	report, err := audit.Verify(ctx, db.Log(), key.Verifier())
	if err != nil {
		return "", err
	}
	if err := e.printReport(report, false); err != nil {
		return "", err
	}
	l, err := ledger.New(ctx, ledger.Options{DB: db, Key: key})
	if err != nil {
		return "", &failure{exitFailure, err, "the backup was signed with another key"}
	}
	ev := record.New(record.Restore, time.Now())
	ev.Message, ev.Where = fmt.Sprintf("a backup of %d entries", report.Size), e.person()
	return keyFile, errors.Join(l.Record(ctx, ev), l.Close())
}

// placeKeys brings the keys that came with a backup to the store. One that is there and is another is moved away.
func (e *Env) placeKeys(from, target, keyFile string) error {
	for _, suffix := range beside {
		if suffix == beside[0] && keyFile == target+suffix {
			continue
		}
		brought, err := os.ReadFile(from + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if own, err := os.ReadFile(target + suffix); err == nil {
			if string(own) == string(brought) {
				continue
			}
			if err := os.Rename(target+suffix, fmt.Sprintf("%s%s.before-%d", target, suffix, time.Now().UnixNano())); err != nil {
				return err
			}
		}
		if err := copyFile(from+suffix, target+suffix); err != nil {
			return err
		}
	}
	return nil
}
