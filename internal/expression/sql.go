package expression

import (
	"slices"
	"strings"
)

// SQLVerb is sql.verb: the first keyword of a statement, in upper case; "" if there are several statements or none, or if the
// dialects of SQL could read the text differently.
func SQLVerb(s string) string {
	tokens, ok := statement(s)
	if !ok {
		return ""
	}
	for _, t := range tokens {
		if t != "(" {
			if isWord(t[0]) {
				return t
			}
			return ""
		}
	}
	return ""
}

// SQLReadOnly is sql.readOnly: whether a text is one statement that only reads, as far as its words can tell: it begins with
// SELECT, WITH, VALUES, TABLE, EXPLAIN, SHOW, DESCRIBE or DESC, no word in it writes, locks or runs something, and it calls
// no function that is known to reach beyond the query. A function of the database's own users can do anything.
func SQLReadOnly(s string) bool {
	if !slices.Contains(readers, SQLVerb(s)) {
		return false
	}
	tokens, _ := statement(s)
	for i, t := range tokens {
		if slices.Contains(writers, t) {
			return false
		}
		call := i+1 < len(tokens) && tokens[i+1] == "("
		if call && slices.ContainsFunc(reaching, func(prefix string) bool { return strings.HasPrefix(t, prefix) }) {
			return false
		}
	}
	return true
}

// readers are the words that statements begin with that may only read.
var readers = []string{"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW", "DESCRIBE", "DESC"}

// writers are the words that no statement that only reads has outside of quotes. REPLACE is not among them: it is a
// function more often than a statement, and as a statement it comes first.
var writers = []string{
	"INSERT", "UPDATE", "DELETE", "MERGE", "UPSERT", "INTO", "OUTFILE", "DUMPFILE", "UNLOAD",
	"CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "GRANT", "REVOKE", "COMMENT",
	"CALL", "EXEC", "EXECUTE", "DO", "DECLARE", "PREPARE", "BEGIN", "COMMIT", "ROLLBACK",
	"COPY", "LOAD", "IMPORT", "EXPORT", "BACKUP", "RESTORE", "ATTACH", "DETACH", "INSTALL",
	"SET", "RESET", "PRAGMA", "VACUUM", "REINDEX", "REFRESH", "LOCK", "KILL", "SHUTDOWN",
	"OPENROWSET", "OPENQUERY", "OPENDATASOURCE",
}

// reaching are the beginnings of functions that write, run something, or reach files and other hosts.
var reaching = []string{
	"NEXTVAL", "SETVAL", "SET_", "PG_", "LO_", "DBLINK", "XP_", "SP_", "SYS_", "LOAD_", "WRITEFILE", "READFILE", "EDIT",
	"DBMS_", "UTL_", "HTTP", "URL", "FILE", "S3", "REMOTE", "QUERY_TO_XML", "DATABASE_TO_XML", "CURSOR_TO_XML",
	"GET_LOCK", "RELEASE_LOCK", "SLEEP", "BENCHMARK", "EVAL", "SYSTEM", "SHELL", "FTS3_TOKENIZER",
}

// statement returns the unquoted words of the only statement in s, in upper case, and its other characters one by one;
// quoted parts are a quote. It is not ok if there is more than one statement, or where dialects differ: on where a quoted
// part or a comment ends, what is run inside of a comment, whether # begins one.
func statement(s string) (tokens []string, ok bool) {
	ended := false // by a semicolon
	for i := 0; i < len(s); {
		end, kind := lexeme(s, i)
		if end <= i {
			return nil, false
		}
		switch {
		case kind == blank:
		case s[i] == ';':
			ended = len(tokens) > 0
		case ended:
			return nil, false
		case kind == kindWord:
			tokens = append(tokens, strings.ToUpper(s[i:end]))
		case kind == quoted:
			tokens = append(tokens, "'")
		default:
			tokens = append(tokens, s[i:end])
		}
		i = end
	}
	return tokens, true
}

// The kinds of lexemes.
const (
	blank    = iota // space or a comment
	kindWord        // keyword, name or number
	quoted
	other
)

// lexeme returns the end and the kind of what begins at i. The end is 0 where dialects differ.
func lexeme(s string, i int) (end, kind int) {
	rest := s[i:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return i + 1, blank
	case c < ' ' || c == '#' || c == '\\':
		return 0, other
	case strings.HasPrefix(rest, "--"):
		return lineComment(s, i), blank
	case strings.HasPrefix(rest, "/*"):
		return comment(s, i), blank
	case c == '\'' || c == '"' || c == '`':
		return quote(s, i), quoted
	case c == '[':
		n := strings.IndexByte(rest, ']')
		if n < 0 || strings.ContainsAny(rest[1:n], "[;'\"`#\\") || strings.Contains(rest[:n], "--") || strings.Contains(rest[:n], "/*") {
			return 0, other
		}
		return i + n + 1, quoted
	case c == '$':
		if len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' {
			return i + 2, other // a parameter
		}
		return 0, other
	case isWord(c):
		return name(s, i), kindWord
	}
	return i + 1, other
}

// name returns the end of a word; 0 if it makes the quote after it another kind of quote.
func name(s string, i int) int {
	end := i
	for end < len(s) && (isWord(s[end]) || s[end] == '$') {
		end++
	}
	if w := s[i:end]; end < len(s) && s[end] == '\'' && (strings.EqualFold(w, "q") || strings.EqualFold(w, "nq")) {
		return 0
	}
	return end
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// lineComment returns the end of a comment that two hyphens begin. Some dialects want a space after them.
func lineComment(s string, i int) int {
	if i+2 < len(s) && strings.IndexByte(" \t\r\n", s[i+2]) < 0 {
		return 0
	}
	line, _, _ := strings.Cut(s[i:], "\n")
	if strings.Contains(strings.TrimSuffix(line, "\r"), "\r") {
		return 0 // in some dialects the line ends there
	}
	return i + len(line)
}

// comment returns the end of a comment in /* and */. In some dialects comments nest, and in some /*! is run.
func comment(s string, i int) int {
	inside := s[i+2:]
	n := strings.Index(inside, "*/")
	if n < 0 || strings.Contains(inside[:n], "/*") || strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "M!") ||
		strings.HasPrefix(inside, "+") {
		return 0
	}
	return i + 2 + n + 2
}

// quote returns the end of a quoted part. A quote inside is written twice; in some dialects a backslash escapes it.
func quote(s string, i int) int {
	q := s[i]
	for j := i + 1; j < len(s); j++ {
		if s[j] != q {
			continue
		}
		if s[j-1] == '\\' && j-1 > i {
			return 0
		}
		if j+1 < len(s) && s[j+1] == q {
			j++
			continue
		}
		return j + 1
	}
	return 0
}
