// Package speech reads a user's messages to an agent: it separates the user's own words from pasted text, and finds the
// user's requests.
//
// [Read] takes a message apart. [Message.Own] is the text that the user wrote; it vouches for contents.
// [Message.Wishes] are the clauses of it that neither forbid nor quote; only they name destinations ([NamesAs]) and
// actions ([Asks]). [Message.Pasted] is text of others.
//
// Languages have no grammar that a table could hold. Where in doubt a clause counts as a prohibition and a text as
// pasted, so that a person is asked.
package speech

import (
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A Message is a user's message, taken apart.
type Message struct {
	Own    []string // the user's own words
	Wishes []string // those of them that request an action
	Pasted []string // text of unknown origin
}

// Read takes a message apart.
func Read(text string) (m Message) {
	for _, part := range lines(text) {
		if part.pasted {
			m.Pasted = append(m.Pasted, part.text)
			continue
		}
		m.quotes(part.text)
	}
	return m
}

// A part is a run of lines.
type part struct {
	text   string
	pasted bool
}

var (
	fence = pattern.New("^\\s*(```|~~~)")
	cited = pattern.New(`(?i)<(?:blockquote|q|cite)\b`)

	// wrote ends the line that mail programs write above quoted text; begins matches the line above forwarded text.
	wrote  = pattern.New(`(?i)^\s*(on|am|le|el|il|op|den|em)\b.{4,200}\b(wrote|schrieb|a écrit|escribió|ha scritto|schreef|skrev|escreveu)\b.{0,80}:\s*$`)
	begins = pattern.New(`(?i)^\s*(-{3,}|_{10,}|begin forwarded message|anfang der weitergeleiteten)\s*` +
		`(forwarded message|original message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|mensaje original)?`)

	// sender is the field that names the author of a mail; it may stand anywhere in a line.
	sender = pattern.New(`(?im)(?:^|[\s"'(>*])(?:from|von|de|da|van|sent|gesendet|envoyé)\**\s*:\**\s*\S`)
	isFrom = pattern.New(`(?i)@|\b(?:to|an|subject|betreff|date|datum|objet|asunto|à|para)\**\s*:`)
)

// lines cuts a message into runs of lines that are pasted, by the signs that programs put before them, and runs that
// are not.
func lines(text string) (parts []part) {
	add := func(line string, pasted bool) {
		if n := len(parts); n > 0 && parts[n-1].pasted == pasted {
			parts[n-1].text += line
			return
		}
		parts = append(parts, part{line, pasted})
	}
	fenced, rest := false, text
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		if len(line) < len(rest) {
			line = rest[:len(line)+1]
		}
		rest = after
		trimmed := strings.TrimSpace(line)
		switch isFence := fence().MatchString(line); {
		case isFence:
			fenced = !fenced
			add(line, true)
		case fenced, strings.HasPrefix(trimmed, ">"), strings.HasPrefix(trimmed, "|"):
			add(line, true)
		case cited().MatchString(line), wrote().MatchString(trimmed), begins().MatchString(trimmed) && len(trimmed) > 3:
			add(line+rest, true)
			return parts
		default:
			if at := sender().FindStringIndex(line); at != nil && isFrom().MatchString(line[at[0]:]+firstLine(rest)) {
				add(line[:at[0]], false)
				add(line[at[0]:]+rest, true)
				return parts
			}
			add(line, false)
		}
	}
	return parts
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// closing are the marks that end a quotation, by those that begin it.
var closing = map[rune]string{
	'"': `"`, '\'': `'`, '`': "`", '\u201c': "\u201d", '\u201e': "\u201c\u201d", '\u2018': "\u2019", '\u201a': "\u2018\u2019", '\u00ab': "\u00bb", '\u00bb': "\u00ab",
	'\u2039': "\u203a", '\u300c': "\u300d", '\u300e': "\u300f",
}

// fewWords is how many words between quotation marks are a name that the user gives, and no text of others.
const fewWords = 5

// giving are words after which a user quotes the exact text to write.
var giving = pattern.Words(`say saying says text body subject title titled message content contents comment reading caption description name named call called with post
 write reply answer note schreib schreibe text betreff titel nachricht inhalt mit antwort antworte dis écris avec texte objet titre di escribe con texto asunto título`)

// quotes separates the quotations from text that is not pasted as a whole.
func (m *Message) quotes(text string) {
	var own, wish strings.Builder
	for i := 0; i < len(text); {
		inner, end := quotation(text, i)
		if end == 0 {
			n := runeLen(text[i:])
			own.WriteString(text[i : i+n])
			wish.WriteString(text[i : i+n])
			i += n
			continue
		}
		long := len(strings.Fields(inner)) > fewWords || strings.ContainsAny(inner, "@\n") || strings.Contains(inner, "://")
		switch short := len(strings.Fields(inner)) == 1; {
		case !long || short:
			wish.WriteString(text[i:end])
			own.WriteString(text[i:end])
		case given(text[:i]):
			wish.WriteByte(' ')
			own.WriteString(text[i:end])
		default:
			m.own(own.String())
			own.Reset()
			wish.WriteByte(' ')
			m.Pasted = append(m.Pasted, inner)
		}
		i = end
	}
	m.own(own.String())
	m.Wishes = append(m.Wishes, allowed(wish.String())...)
}

func (m *Message) own(text string) {
	if strings.TrimSpace(text) != "" {
		m.Own = append(m.Own, text)
	}
}

// given reports whether the words before a quotation declare it the text to write.
func given(before string) bool {
	words := wordsOf(before)
	for _, w := range words[max(0, len(words)-2):] {
		if giving()[w] {
			return true
		}
	}
	n := len(words)
	return n > 1 && people()[words[n-1]] && (telling()[words[n-2]] || n > 2 && articles()[words[n-2]] && telling()[words[n-3]])
}

// A quotation after a verb of telling and its recipient is the text to send: answer the customer "it is fixed".
var (
	telling  = pattern.Words("answer tell write reply send to post text message inform antworte sag schreib schreibe schicke")
	articles = pattern.Words("the a my our this that to dem der den")
	people   = pattern.Words(`customer customers client clients user users guest guests patient reporter requester sender author team colleague colleagues staff everyone everybody
		all him her them people kunden kundin kunde team kollegen allen ihm ihr ihnen`)
)

// quotation returns the text between the quotation mark at i and its closing one, and where that ends; zero if there is
// none.
func quotation(text string, i int) (inner string, end int) {
	r, n := decode(text[i:])
	closers := closing[r]
	if closers == "" || !opensQuote(text, i) {
		return "", 0
	}
	for j := i + n; j < len(text); {
		c, k := decode(text[j:])
		if strings.ContainsRune(closers, c) && (j+k >= len(text) || !isWord(text[j+k:]) || r > 0x7f) {
			return text[i+n : j], j + k
		}
		j += k
	}
	return "", 0
}

// opensQuote reports whether a mark at i may begin a quotation: one that is an apostrophe as well stands after a blank.
func opensQuote(text string, i int) bool {
	return i == 0 || strings.IndexByte(" \t\n([{:,;=-", text[i-1]) >= 0 || text[i] > 0x7f
}
