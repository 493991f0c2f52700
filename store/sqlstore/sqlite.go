package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"modernc.org/sqlite"
)

// openSQLite opens a file, and makes it first where there is none. The files beside it get its mode.
func openSQLite(ctx context.Context, p *pool, target string) (err error) {
	if p.place, err = findPlace(target, !p.opts.Existing && !p.opts.ReadOnly); err != nil {
		return err
	}
	if p.opts.ReadOnly {
		return openReading(ctx, p)
	}
	if mode := p.place.held[0].info.Mode(); mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%w: the mode of %s is %v, not 0600", ErrExposed, p.place.path, mode)
	}
	synchronous := "synchronous(full)"
	if p.opts.Unsynced {
		synchronous = "synchronous(normal)" // syncs when the write-ahead log is taken over, not at each commit
	}
	return connectTo(p, url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(p.opts.Timeout.Milliseconds()*4/5, 10) + ")", "journal_mode(wal)", synchronous,
		"secure_delete(on)", "cache_size(-8192)", "wal_autocheckpoint(" + strconv.Itoa(2*maxFrames) + ")",
	}})
}

// maxFrames is how many frames the write-ahead log of a file has until it is taken over into the file: between two
// transactions if nobody waits, and at twice as many in the course of one.
const maxFrames = 1000

// takeOver takes the write-ahead log over if it has become long. It is called by a connection that writes, between its
// transactions. An error is that of whoever takes it over later.
func (p *pool) takeOver(ctx context.Context, s *statements) {
	if header, known := p.index.header(); known && header.frames() >= maxFrames {
		_ = s.query(ctx, p.dialect.takeOver, func(*sql.Rows) error { return nil })
	}
}

// connectTo makes the connections to the file at the place of a pool.
func connectTo(p *pool, query url.Values) error {
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", OmitHost: true, Path: p.place.path, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	p.db = sql.OpenDB(placed{c, p.place})
	return nil
}

// openReading opens a file that is only read, by whoever may: as it is, if the files beside it are there or can be
// made. Else there is no lock to read it under: where nobody can write, it is read without one, and elsewhere a copy is
// read.
func openReading(ctx context.Context, p *pool) error {
	p.place.ro = true
	query := url.Values{"mode": {"ro"}, "_pragma": {"query_only(on)", "busy_timeout(4000)", "cache_size(-8192)"}}
	if err := connectTo(p, query); err != nil {
		return err
	}
	direct := p.db.PingContext(ctx)
	if direct == nil {
		_, direct = p.db.ExecContext(ctx, "select count(*) from sqlite_master")
	}
	if direct == nil || !sqliteClosed(direct) {
		return direct
	}
	if err := p.db.Close(); err != nil {
		return err
	}
	wal, err := os.Stat(p.place.path + "-wal")
	if (errors.Is(err, os.ErrNotExist) || err == nil && wal.Size() == 0) && readOnlyMount(p.place.path) {
		query.Set("immutable", "1")
		return connectTo(p, query)
	}
	return openCopy(p, query)
}

// openCopy opens a copy of a file and of the log beside it, which goes when the database is closed.
func openCopy(p *pool, query url.Values) error {
	dir, err := os.MkdirTemp("", "weir-read-")
	if err != nil {
		return err
	}
	p.copied = append(p.copied, dir)
	path, from := filepath.Join(dir, "state.db"), p.place.path
	const attempts = 10
	for range attempts {
		before := stamps(from)
		err = errors.Join(copyTo(from, path), copyTo(from+"-wal", path+"-wal"))
		if err == nil && before == stamps(from) {
			p.place = &place{path: path, ro: true} // the copy is nobody else's
			query.Set("mode", "rw")
			return connectTo(p, query)
		}
	}
	if err == nil {
		err = fmt.Errorf("%s is written to all the time, and cannot be read where it is", from)
	}
	return err
}

// stamps tells of each change of a file and of the log beside it.
func stamps(path string) (s [2]string) {
	for i, name := range [...]string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			s[i] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
	}
	return s
}

// copyTo copies a file, if it is there.
func copyTo(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func sqliteConflict(err error) bool { return sqliteCode(err, 5, 6) } // busy, locked

// sqliteClosed knows files that cannot be opened or written: read-only, cannot open.
func sqliteClosed(err error) bool { return sqliteCode(err, 8, 14) }

func sqliteCode(err error, codes ...int) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.Code()&0xff == code {
			return true
		}
	}
	return false
}
