// Package sqlread tells whether a text of SQL only reads, by the grammar of its dialect.
//
// [Reader.ReadOnly] is true for exactly one statement that consists of listed parts only: queries, the functions,
// operators and types that compute and read, and the statements that show or explain. Everything else is false: text
// that does not parse, unlisted statements and functions, and texts that the client, the server or a mode of the server
// could read in another way than the grammar here. It does not check the cost of a query, nor the effects of views,
// operators and types of a database's own users.
//
// The grammars are PostgreSQL's own parser (libpg_query as WebAssembly), TiDB's parser of MySQL, and SQLite itself. The
// first is compiled at the first statement that needs it, which takes seconds of a processor; after that a statement
// takes about a tenth of a millisecond in each.
package sqlread

import (
	"slices"
	"sync"
)

// Dialects returns the names of the dialects.
func Dialects() []string { return []string{"postgresql", "mysql", "sqlite"} }

// A Reader reads statements. The zero Reader is ready. It is safe for concurrent use; one statement of PostgreSQL is
// parsed at a time, so that there is one instance of that parser.
type Reader struct {
	mu     sync.Mutex
	broken bool // PostgreSQL's parser failed inside: its memory may say anything
}

// ReadOnly reports whether the text is one statement that only reads.
func (r *Reader) ReadOnly(text, dialect string) (reads bool) {
	if !slices.Contains(Dialects(), dialect) || !sameForAll(text) {
		return false
	}
	defer func() {
		if recover() != nil {
			reads = false // a parser that fails has not said that the text is harmless
		}
	}()
	switch dialect {
	case "postgresql":
		return r.postgreSQL(text)
	case "mysql":
		return mySQL(text)
	case "sqlite":
		return sqLite(text)
	}
	return false
}
