package demo

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A color is an ANSI escape sequence, or nothing.
type color string

const (
	none   color = ""
	bold   color = "\x1b[1m"
	dim    color = "\x1b[2m"
	red    color = "\x1b[31m"
	green  color = "\x1b[32m"
	yellow color = "\x1b[33m"
	reset        = "\x1b[0m"
)

// paint returns the text in a colour, if colours are wanted.
func (t *Text) paint(c color, text string) string {
	if !t.Color || c == none || text == "" {
		return text
	}
	return string(c) + text + reset
}

// print writes parts as they are. After an error it writes nothing more.
func (t *Text) print(parts ...string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.Out, strings.Join(parts, ""))
	}
}

func (t *Text) line(indent, text string) { t.print(indent, text, "\n") }

// wrapped writes a text in lines that fit the width, each behind the indent.
func (t *Text) wrapped(indent, text string, c color) {
	text = clean(text)
	room := width - runes(indent)
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		word = cut(word, room)
		n := runes(word)
		if used > 0 && used+1+n > room {
			t.line(indent, t.paint(c, line))
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	if used > 0 {
		t.line(indent, t.paint(c, line))
	}
}

// clean replaces control and format characters, which a terminal might obey, by spaces. What servers, guards and texts
// from the web say goes through it.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// cut shortens a text to at most n runes.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

// pad fills a text up with spaces to n columns.
func pad(text string, n int) string { return text + strings.Repeat(" ", max(0, n-runes(text))) }

// runes returns how many columns a text takes; nothing here is wider than one a rune.
func runes(text string) int { return utf8.RuneCountInString(text) }

// rule returns a line of n columns.
func rule(n int) string { return strings.Repeat("─", max(0, n)) }
