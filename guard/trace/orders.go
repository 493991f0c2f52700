package trace

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/policy"
)

// orders reports whether a text that holds an outsider's link, and is written to the resources, is one that a later
// reader would obey: any text in an agent's memory, and in a document of prose one that gives an order. Agents read
// such texts back and take them for the user's rules.
func orders(r policy.Resources, text string) bool {
	for _, uri := range r.Writes {
		scheme, rest, _ := strings.Cut(uri, ":")
		rest, _ = url.PathUnescape(rest)
		if scheme == "memory" || slices.Contains(prose, strings.ToLower(path.Ext(rest))) && directive().MatchString(text) {
			return true
		}
	}
	return !r.Known && directive().MatchString(text)
}

// prose are the extensions of texts that people and agents read.
var prose = strings.Fields(".md .mdx .markdown .txt .rst .adoc .org .text")

// directive finds words of standing orders.
var directive = pattern.New(`(?i)\b(` +
	`always|never|every|each|must|shall|should|instead|rules?|remember|whenever|from now on|for all|standing|install|send|` +
	`forward|copy|use|run|fetch|download|register|sign in|log in|pay|bcc|immer|niemals|jede[rsnm]?|muss|müssen|stattdessen|` +
	`regel|installiere|sende|schicke|toujours|jamais|chaque|doit|installez|envoyez|siempre|nunca|cada|debe|instala|envía|` +
	`sempre|mai|ogni|deve|installa|invia)\b|必ず|常に|必须|总是`)

// tellsWho reports whether a text has two words with capitals in a row, an address or a number of five digits.
func tellsWho(text string) bool {
	name := false
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:()\"", r) }) {
		digits := strings.Count(strings.Map(digitsAsZero, w), "0")
		if strings.Contains(w, "@") || digits >= 5 && momentBits(w) == policy.MostBits {
			return true
		}
		capital := isNamePart(w)
		if capital && name {
			return true
		}
		name = capital
	}
	return false
}

func digitsAsZero(r rune) rune {
	if unicode.IsDigit(r) {
		return '0'
	}
	return '-'
}

// isNamePart reports whether a word has one capital, at its beginning, and no digits.
func isNamePart(w string) bool {
	first := true
	for _, r := range w {
		if first != unicode.IsUpper(r) || !unicode.IsLetter(r) && r != '-' && r != '\'' {
			return false
		}
		first = false
	}
	return !first
}
