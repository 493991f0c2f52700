package sqlread

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"

	"modernc.org/sqlite"
)

// sqLite reads a statement in two ways that have to agree. SQLite itself parses it as the query of a view, which it
// does without knowing any table: so it is one query (SELECT, VALUES, WITH before one), and none of SQLite's queries
// writes but by a function. And each name before a bracket, in any of the four kinds of quotes, is one of a function on
// the list, or of a table expression, or a word of the grammar.
func sqLite(text string) bool {
	tokens, ok := liteTokens(text)
	if !ok || len(tokens) == 0 {
		return false
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].text == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if reads, is := litePragma(tokens); is {
		return reads
	}
	if tokens = afterExplain(tokens); len(tokens) == 0 || !liteTables(tokens) || !calls(tokens, liteWords, liteFunctions) {
		return false
	}
	var query strings.Builder
	for _, t := range tokens {
		if t.kind == liteParameter {
			query.WriteString("NULL ") // views have none
			continue
		}
		query.WriteString(t.text + " ")
	}
	return liteQuery(query.String())
}

// liteQuery reports whether SQLite takes the text for a query.
func liteQuery(text string) bool {
	conn, err := new(sqlite.Driver).Open(":memory:")
	if err != nil {
		return false
	}
	defer conn.Close()
	queryer, ok := conn.(driver.QueryerContext)
	if !ok {
		return false
	}
	rows, err := queryer.QueryContext(context.Background(), "EXPLAIN CREATE TEMP VIEW v AS "+text, nil)
	if err != nil {
		return false
	}
	defer rows.Close()
	err = rows.Next(make([]driver.Value, len(rows.Columns())))
	return err == nil || err == io.EOF
}

func afterExplain(tokens []liteToken) []liteToken {
	if tokens[0].is("EXPLAIN") {
		tokens = tokens[1:]
		if len(tokens) > 1 && tokens[0].is("QUERY") && tokens[1].is("PLAN") {
			tokens = tokens[2:]
		}
	}
	return tokens
}

// litePragma reports whether the statement is a pragma, and whether it is one that only tells something.
func litePragma(tokens []liteToken) (reads, is bool) {
	if !tokens[0].is("PRAGMA") {
		return false, false
	}
	tokens = tokens[1:]
	if len(tokens) > 2 && tokens[0].kind == liteWord && tokens[1].text == "." {
		tokens = tokens[2:]
	}
	if len(tokens) == 0 || tokens[0].kind != liteWord || !litePragmas()[tokens[0].name()] {
		return false, true
	}
	switch len(tokens) {
	case 1:
		return true, true
	case 4:
		return tokens[1].text == "(" && tokens[2].named() && tokens[3].text == ")", true
	}
	return false, true
}

// liteTables reports whether no name in the tokens is that of a table that acts when it is queried.
func liteTables(tokens []liteToken) bool {
	for _, t := range tokens {
		name := t.name()
		if t.named() && (liteReaching()[name] || strings.HasPrefix(name, "pragma_") && !litePragmas()[strings.TrimPrefix(name, "pragma_")]) {
			return false
		}
	}
	return true
}

// calls reports whether each name before a bracket is a word of the grammar or a function on the list, without a
// schema, or a common table expression.
func calls(tokens []liteToken, words, functions func() map[string]bool) bool {
	for i, t := range tokens {
		if !t.named() || i+1 == len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		name, inSchema := t.name(), i > 0 && tokens[i-1].text == "."
		listed := functions()[name] || litePragmas()[strings.TrimPrefix(name, "pragma_")] && strings.HasPrefix(name, "pragma_")
		if !inSchema && (listed || t.kind == liteWord && words()[name]) || tableExpression(tokens, i) {
			continue
		}
		return false
	}
	return true
}

// tableExpression reports whether the name at i is that of a common table expression with names of columns: name (…) AS
// [NOT] [MATERIALIZED] (. No other name can stand there.
func tableExpression(tokens []liteToken, i int) bool {
	depth, j := 0, i+1
	for ; j < len(tokens); j++ {
		if tokens[j].text == "(" {
			depth++
		} else if tokens[j].text == ")" {
			if depth--; depth == 0 {
				break
			}
		}
	}
	j++
	if j >= len(tokens) || !tokens[j].is("AS") {
		return false
	}
	j++
	for j < len(tokens) && (tokens[j].is("NOT") || tokens[j].is("MATERIALIZED")) {
		j++
	}
	return j < len(tokens) && tokens[j].text == "(" && i > 0 && (tokens[i-1].is("WITH") || tokens[i-1].is("RECURSIVE") || tokens[i-1].text == ",")
}

// The kinds of tokens.
const (
	liteOther = iota
	liteWord  // a keyword or a name
	liteQuoted
	liteParameter
)

type liteToken struct {
	kind int
	text string
}

// is reports whether the token is the keyword.
func (t liteToken) is(word string) bool { return t.kind == liteWord && strings.EqualFold(t.text, word) }

// named reports whether the token may be a name: SQLite takes texts in single quotes for names too.
func (t liteToken) named() bool { return t.kind == liteWord || t.kind == liteQuoted }

// name returns the name without its quotes, in lower case.
func (t liteToken) name() string {
	s := t.text
	if t.kind == liteQuoted {
		q := s[len(s)-1:]
		s = s[1 : len(s)-1]
		if q != "]" {
			s = strings.ReplaceAll(s, q+q, q)
		}
	}
	return strings.ToLower(s)
}

// liteTokens splits a text as SQLite's tokenizer does (sqlite.org/src/file/src/tokenize.c), and drops blanks and
// comments. It is not ok where a token does not end.
func liteTokens(text string) (tokens []liteToken, ok bool) {
	for i := 0; i < len(text); {
		rest := text[i:]
		end, kind := 1, liteOther
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case strings.HasPrefix(rest, "--"):
			line, _, _ := strings.Cut(rest, "\n")
			if strings.Contains(strings.TrimSuffix(line, "\r"), "\r") {
				return nil, false
			}
			i += len(line)
			continue
		case strings.HasPrefix(rest, "/*"):
			inside, _, closed := strings.Cut(rest[2:], "*/")
			if !closed {
				return nil, false
			}
			i += len(inside) + 4
			continue
		case c == '\'' || c == '"' || c == '`':
			end, kind = liteQuote(rest), liteQuoted
		case c == '[':
			end, kind = strings.IndexByte(rest, ']')+1, liteQuoted
		case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
			end = liteNumber(rest)
		case c == '?' || c == ':' || c == '@' || c == '$':
			for end < len(rest) && wordByte(rest[end]) {
				end++
			}
			kind = liteParameter
		case c == '#' || c == '\\' || c == '{' || c == '}':
			return nil, false
		case wordByte(c):
			for end < len(rest) && (wordByte(rest[end]) || rest[end] == '$') {
				end++
			}
			kind = liteWord
			if end == 1 && c|0x20 == 'x' && len(rest) > 1 && rest[1] == '\'' {
				end, kind = 1+liteQuote(rest[1:]), liteOther // a blob
			}
		default:
			for _, two := range []string{"->>", "->", "||", "<<", ">>", "<=", ">=", "<>", "!=", "=="} {
				if strings.HasPrefix(rest, two) {
					end = len(two)
					break
				}
			}
		}
		if end <= 0 || kind == liteQuoted && end < 2 {
			return nil, false
		}
		tokens = append(tokens, liteToken{kind, rest[:end]})
		i += end
	}
	return tokens, true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// liteNumber returns the end of a number; 0 if letters stick to it.
func liteNumber(s string) int {
	digits := func(i int, more string) int {
		for i < len(s) && (digit(s[i]) || strings.IndexByte(more, s[i]|0x20) >= 0) {
			i++
		}
		return i
	}
	end := digits(0, "")
	if hex := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"); hex {
		end = digits(2, "abcdef")
	} else {
		if end < len(s) && s[end] == '.' {
			end = digits(end+1, "")
		}
		if e := end + 1; end < len(s) && s[end]|0x20 == 'e' {
			if e < len(s) && (s[e] == '+' || s[e] == '-') {
				e++
			}
			if e < len(s) && digit(s[e]) {
				end = digits(e, "")
			}
		}
	}
	if end < len(s) && wordByte(s[end]) {
		return 0
	}
	return end
}

// liteQuote returns the end of a quoted text in which the quote is written twice; 0 if there is none.
func liteQuote(s string) int {
	for j := 1; j < len(s); j++ {
		if s[j] != s[0] {
			continue
		}
		if j+1 < len(s) && s[j+1] == s[0] {
			j++
			continue
		}
		return j + 1
	}
	return 0
}
