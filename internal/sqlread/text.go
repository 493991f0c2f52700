package sqlread

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/pattern"
)

// sameForAll reports whether the text is short and flat, and is one statement to a client too that splits it at
// semicolons, knows the comments of other versions, or stops at characters that the server takes.
func sameForAll(text string) bool {
	if len(text) > maxStatement || !utf8.ValidString(text) || strings.ContainsFunc(text, unseen) {
		return false
	}
	brackets, operators, start := 0, 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ';' && !endsHere(text[i+1:]):
			return false
		case c == '(' || c == '[':
			brackets++
		case c == ')' || c == ']':
			brackets--
		case c > ' ' && !wordByte(c) && strings.IndexByte(`,.'";`, c) < 0:
			operators++
		}
		if wordByte(c) {
			if i == 0 || !wordByte(text[i-1]) {
				start = i
			}
			if (i+1 == len(text) || !wordByte(text[i+1])) && deepening()[strings.ToLower(text[start:i+1])] {
				operators++
			}
		}
		if brackets > maxBrackets || operators > maxOperators {
			return false
		}
	}
	return plainComments(text)
}

// unseen reports whether a character is one that readers drop, end a text at, or take for a blank or not.
func unseen(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && !unicode.IsPrint(r)
}

// deepening are words of which each may put one level on top of the tree.
var deepening = pattern.Words("not union intersect except join case is isnull notnull collate at between in like ilike similar glob regexp rlike match mod div xor " +
	"and or binary interval overlaps any some all exists with escape straight_join")

// endsHere reports whether a statement cannot begin in the rest after a semicolon: nothing follows, or the end of a
// quoted text.
func endsHere(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n;")
	return rest == "" || rest[0] == '\''
}

// plainComments reports whether every text that looks like a comment, even inside quotes, is a comment to every server:
// not one that a server runs, and not a nested one, which some servers end earlier.
func plainComments(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "/*")
		if !found {
			return true
		}
		inside, after, closed := strings.Cut(rest, "*/")
		acts := slices.ContainsFunc([]string{"!", "+", "M!", "T!", "/"}, func(mark string) bool { return strings.HasPrefix(rest, mark) })
		if !closed || acts || strings.Contains(inside, "/*") {
			return false
		}
		text = after
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// Limits on one statement. They keep parsers, which recurse, far from the depths at which they fail: libpg_query does
// so in about 100 subqueries inside each other or 600 operators in a row.
const (
	maxStatement = 16 << 10 // bytes
	maxBrackets  = 25       // inside each other
	maxOperators = 200      // of one character each, or a word
)
