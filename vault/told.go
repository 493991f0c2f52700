package vault

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// choice begins the form in which a choice is remembered. No number begins so.
const choice = "="

// remembered returns the form in which an answer to a look is known again: the digits of a number, or a choice as it
// is. It is "" for an answer that names nothing.
func remembered(answer json.RawMessage) string {
	if text, ok := rawjson.String(answer); ok {
		if text == None || text == "" {
			return ""
		}
		return choice + strings.ToLower(text)
	}
	text := string(answer)
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, "eE") {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return digitsOf(text)
}

// named reports whether a text holds one of the answers that are known: a number among its numbers, or, from four digits
// on, among all its digits, whatever stands between them; a choice as a whole, in quotation marks, or, from four bytes
// on, as whole words.
func named(known []string, text string) bool {
	all := digitsOf(text)
	runs := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	lower := strings.ToLower(text)
	return slices.ContainsFunc(known, func(answer string) bool {
		if said, ok := strings.CutPrefix(answer, choice); ok {
			return lower == said || strings.Contains(lower, string(rawjson.Quote(said))) || len(said) >= 4 && hasWords(lower, said)
		}
		return len(answer) >= 4 && strings.Contains(all, answer) || slices.Contains(runs, answer)
	})
}

// hasWords reports whether a text has others in it that neither begin nor end in one of its words.
func hasWords(text, words string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], words)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(words):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = at + 1
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// digitsOf returns the digits of a text.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
