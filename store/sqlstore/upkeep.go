package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// upkeep has the operations on the database as a whole.
type upkeep struct{ *writer }

// Usage is how much a database holds.
type Usage struct {
	Schema    int       `json:"schema"` // the version of the schema
	Bytes     int64     `json:"bytes"`  // the size of the database
	Sessions  int64     `json:"sessions"`
	Questions int64     `json:"questions"`
	Pins      int64     `json:"pins"`
	Taints    int64     `json:"taints"`
	Hidden    int64     `json:"hidden"`       // values that are kept with sessions
	Sealed    int64     `json:"hidden_bytes"` // how long all of these are
	Entries   int64     `json:"entries"`
	Chains    int64     `json:"chains"`
	Captured  int64     `json:"captured"`       // entries beside which something is kept
	Beside    int64     `json:"captured_bytes"` // how long all of that is
	First     time.Time `json:"first,omitzero"` // when the first entry that is not erased was written
}

const readUsage = `select
	(select max(version) from schema), (select present from state), (select count(*) from question), (select count(*) from pin),
	(select count(*) from taint), (select size from state), (select count(*) from chain),
	(select count(*) from aside), (select coalesce(sum(length(body)), 0) from aside),
	(select count(*) from hidden), (select coalesce(sum(size), 0) from hidden),
	coalesce((select time from entry where length(salt) > 0 order by seq limit 1), 0)`

// Usage returns how much the database holds.
func (d *upkeep) Usage(ctx context.Context) (u Usage, err error) {
	var first int64
	err = d.reads.query(ctx, readUsage, func(rows *sql.Rows) error {
		return rows.Scan(&u.Schema, &u.Sessions, &u.Questions, &u.Pins, &u.Taints, &u.Entries, &u.Chains, &u.Captured, &u.Beside,
			&u.Hidden, &u.Sealed, &first)
	})
	if err != nil {
		return Usage{}, err
	}
	u.First = fromMicros(first)
	err = d.reads.query(ctx, d.dialect.size, func(rows *sql.Rows) error { return rows.Scan(&u.Bytes) })
	return u, err
}

// Used returns how many bytes of an SQLite file are in use. Of a database server that is not known: ok is false.
func (d *upkeep) Used(ctx context.Context) (bytes int64, ok bool, err error) {
	if d.dialect.used == "" {
		return 0, false, nil
	}
	err = d.scans.query(ctx, d.dialect.used, func(rows *sql.Rows) error { return rows.Scan(&bytes) })
	return bytes, err == nil, err
}

// Backup writes an SQLite database as it is at one moment to a new file, readable by its owner only, while others go on
// writing. It holds nothing that was removed before. With an error there is no file.
func (d *upkeep) Backup(ctx context.Context, path string) (err error) {
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
	if _, err := d.db.ExecContext(ctx, d.dialect.backup, path); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Scrub overwrites removed content in the files of an SQLite database, as far as possible: pages that another
// connection reads stay. PostgreSQL overwrites removed content when it vacuums.
func (d *upkeep) Scrub(ctx context.Context) error {
	if d.dialect.scrub == "" {
		return nil
	}
	return d.reads.query(ctx, d.dialect.scrub, func(*sql.Rows) error { return nil })
}

// Integrity has the database check itself, as far as it can and this user may. It reads all of it. A database that is
// too damaged for that is a finding, not an error.
func (d *upkeep) Integrity(ctx context.Context) (in Integrity, err error) {
	c, err := d.beginReading(ctx)
	if err != nil {
		return in, err
	}
	defer c.Close()
	for _, step := range d.dialect.examine {
		if err := step(ctx, c, &in); err != nil && ctx.Err() == nil {
			in.Findings = append(in.Findings, err.Error())
			break // the transaction may be lost
		}
	}
	if _, err := c.ExecContext(context.WithoutCancel(ctx), "rollback"); err != nil && len(in.Findings) == 0 {
		return in, err
	}
	return in, ctx.Err()
}

// Privileges returns the privileges of the role of this connection. A file has none.
func (d *upkeep) Privileges(ctx context.Context) (p Privileges, err error) {
	if d.place != nil {
		return p, nil
	}
	err = d.reads.query(ctx, `select session_user, current_schema()`, func(rows *sql.Rows) error { return rows.Scan(&p.Role, &p.Schema) })
	if err == nil {
		err = p.inspect(ctx, &d.reads)
	}
	return p, err
}

const mayErase = `select has_table_privilege('entry', 'delete')`

// MayErase returns an error that is [ErrDenied] if the role of the database may not erase entries.
func (d *upkeep) MayErase(ctx context.Context) error {
	if d.place != nil {
		return nil
	}
	may := false
	err := d.reads.query(ctx, mayErase, func(rows *sql.Rows) error { return rows.Scan(&may) })
	if err == nil && !may {
		err = fmt.Errorf("%w: it may not erase entries of the log", ErrDenied)
	}
	return err
}

var (
	// ErrNoFile is the kind of error of a backup of a database that is not a file.
	ErrNoFile = errors.New("the database is not a file")

	// ErrInUse is the kind of error of a database that a process has open.
	ErrInUse = errors.New("the database is in use")
)

// Retire moves the file of an SQLite database away. The error is ErrInUse if a process has it open.
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
