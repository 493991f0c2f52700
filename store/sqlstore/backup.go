package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

var (
	// ErrNoFile is the kind of error of a backup of what is no file.
	ErrNoFile = errors.New("the database is not a file")

	// ErrInUse is the kind of error of a database that somebody has open.
	ErrInUse = errors.New("the database is in use")
)

// Backup writes an SQLite database as it is at one moment to a new file, readable by its owner only, while others go on
// writing. It holds nothing that was removed before. With an error there is no file.
func (d *DB) Backup(ctx context.Context, path string) (err error) {
	if d.dialect.backup == "" {
		return ErrNoFile
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(fmt.Errorf("writing a backup: %w", err), os.Remove(path))
		}
	}()
	if _, err := d.pool.ExecContext(ctx, d.dialect.backup, path); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Retire moves the file of an SQLite database away that nobody has open. The error is ErrInUse if somebody has.
func Retire(ctx context.Context, path, to string) (err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "mode=rw&_pragma=busy_timeout(0)"}).String())
	if err != nil {
		return err
	}
	var mode string
	err = db.QueryRowContext(ctx, `pragma journal_mode = delete`).Scan(&mode) // only who is alone may leave WAL mode
	if sqliteConflict(err) || err == nil && mode != "delete" {
		return errors.Join(ErrInUse, db.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("looking whether the database is in use: %w", err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("moving the database away: %w", &os.PathError{Op: "rename", Path: to, Err: os.ErrExist})
	}
	if err := os.Rename(path, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
