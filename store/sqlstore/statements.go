package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A preparer prepares statements: a pool of connections or one of them.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements keeps the prepared statements of a preparer by their text. It may be used concurrently.
type statements struct {
	db       preparer
	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
	full     map[gap]string // texts with their placeholders
	bare     bool           // prepares texts with placeholders that have no numbers, where those are in order

	// around wraps each query, and may run it again unless it returned a row; nil: none.
	around func(ctx context.Context, query func(context.Context) (began bool, err error)) error
}

func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.prepared[text]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	written := text
	if s.bare {
		written = bare(text)
	}
	stmt, err := s.db.PrepareContext(ctx, written) // without the lock: it may take its time
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.prepared[text]; other != nil {
		return other, stmt.Close()
	}
	s.prepared[text] = stmt
	return stmt, nil
}

// numbered is a placeholder with a number.
var numbered = pattern.New(`\$\d+`)

// bare returns a text with placeholders without numbers, if they come in order: SQLite keeps a number as a name, and
// goes through the names of all before to bind one.
func bare(text string) string {
	n := 0
	inOrder := true
	short := numbered().ReplaceAllStringFunc(text, func(name string) string {
		n++
		inOrder = inOrder && name == "$"+strconv.Itoa(n)
		return "?"
	})
	if !inOrder {
		return text
	}
	return short
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for text, stmt := range s.prepared {
		all = errors.Join(all, stmt.Close())
		delete(s.prepared, text)
	}
	return all
}

// query calls scan for each row.
func (s *statements) query(ctx context.Context, text string, scan func(*sql.Rows) error, args ...any) error {
	once := func(ctx context.Context) (began bool, err error) {
		stmt, err := s.get(ctx, text)
		if err != nil {
			return false, err
		}
		rows, err := stmt.QueryContext(ctx, args...)
		err = each(rows, err, func(rows *sql.Rows) error {
			began = true
			return scan(rows)
		})
		return began, err
	}
	if s.around == nil {
		_, err := once(ctx)
		return err
	}
	return s.around(ctx, once)
}

// each calls scan for each row that a query returned, unless it failed, and closes the rows.
func each(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec returns how many rows the statement changed.
func (s *statements) exec(ctx context.Context, text string, args ...any) (int64, error) {
	stmt, err := s.get(ctx, text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// sizes are how many rows or names one statement takes, so that few texts have to be prepared.
var sizes = [...]int{64, 16, 4, 2, 1}

// insert writes the rows of cols values each, many at a time. The text has %s where the values go.
func (s *statements) insert(ctx context.Context, text string, cols int, values []any) error {
	for _, size := range sizes {
		for len(values) >= size*cols {
			if _, err := s.exec(ctx, s.filled(text, size, cols), values[:size*cols]...); err != nil {
				return err
			}
			values = values[size*cols:]
		}
	}
	return nil
}

// among runs a query for values, many at a time. The text has %s where they go, in parentheses.
func among[T any](ctx context.Context, s *statements, text string, values []T, scan func(*sql.Rows) error) error {
	for query, args := range batches(text, values) {
		if err := s.query(ctx, query, scan, args...); err != nil {
			return err
		}
	}
	return nil
}

// batches yields a text for values, as many of them at a time as one statement takes. The text has %s where they go, in
// parentheses. Where there are fewer than places, the last comes again.
func batches[T any](text string, values []T) iter.Seq2[string, []any] {
	return func(yield func(string, []any) bool) {
		for len(values) > 0 {
			size := sizes[0]
			for _, smaller := range sizes[1:] {
				if len(values) <= smaller {
					size = smaller
				}
			}
			args := make([]any, size)
			for i := range args {
				args[i] = values[min(i, len(values)-1)]
			}
			if !yield(strings.Replace(text, "%s", places(1, size), 1), args) {
				return
			}
			values = values[min(size, len(values)):]
		}
	}
}

// A gap is a text and the placeholders that go into it.
type gap struct {
	text       string
	rows, cols int
}

// filled returns a text with the placeholders of rows where it has %s. It is kept.
func (s *statements) filled(text string, rows, cols int) string {
	at := gap{text, rows, cols}
	s.mu.RLock()
	full := s.full[at]
	s.mu.RUnlock()
	if full != "" {
		return full
	}
	full = strings.Replace(text, "%s", places(rows, cols), 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		s.full = map[gap]string{}
	}
	s.full[at] = full
	return full
}

// places returns the placeholders of rows: ($1, $2), ($3, $4).
func places(rows, cols int) string {
	var b strings.Builder
	for i := range rows * cols {
		switch {
		case i == 0:
			b.WriteByte('(')
		case i%cols == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteByte(')')
	return b.String()
}

// pageSize is how many sessions, questions, pins or taints a query lists.
const pageSize = 200

// pages iterates over pages of full items each, but for the last one. Each begins at a place and ends at another.
func pages[T, P any](ctx context.Context, full int, start P, read func(P) ([]T, P, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for at := start; ; {
			if err := ctx.Err(); err != nil {
				yield(none, err)
				return
			}
			page, next, err := read(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, x := range page {
				if err := ctx.Err(); err != nil {
					yield(none, err)
					return
				}
				if !yield(x, nil) {
					return
				}
			}
			if len(page) < full {
				return
			}
			at = next
		}
	}
}

// rowPage is how many rows a query reads.
const rowPage = 500
