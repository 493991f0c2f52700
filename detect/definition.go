package detect

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// mostUnseen is how many characters that do not show one text has findings of.
const mostUnseen = 8

// Definitions returns the scanner of text that should only describe: definitions of tools, resources and prompts, their
// schemas, and instructions of servers. It finds all that [New] does, and more.
var Definitions = sync.OnceValue(func() *Scanner {
	return NewWith(Options{definitions: true})
})

// phraseRules are of phrases that a description should not hold, in any case and spacing.
func phraseRules() (all []Rule) {
	for _, p := range phrases() {
		r := Rule{Kind: p.kind, Name: fmt.Sprintf("%q %s", p.words, p.why), Class: Injection, Source: "docs/detection.md"}
		for _, words := range []string{p.words, strings.ReplaceAll(p.words, "'", "’")} {
			l := &lexeme{text: words}
			r.anchors = []string{words}
			r.find = func(_ *scan, v *view, _, end int) (m match, ok bool) {
				start := l.start(v.text, end)
				return match{start: start, end: end, secret: start, last: end, confidence: p.confidence()}, start >= 0
			}
			if all = append(all, r); words == p.words && !strings.Contains(words, "'") {
				break
			}
		}
	}
	return all
}

// confidence returns that of a phrase: honest descriptions name places of secrets, too.
func (p *phrase) confidence() Confidence {
	if p.kind == Secret {
		return Low
	}
	return Medium
}

// A phrase is a way to say something that should not be said.
type phrase struct {
	kind  Kind
	words string // lower case, one space between words
	why   string
}

// phrases are those that are looked for in definitions. They are taken from published attacks on tool descriptions, in
// English; they are chosen so that an honest description rarely holds one.
func phrases() []phrase {
	const (
		override = "tells the model to disregard what it was told"
		secrecy  = "tells the model to keep something from the user"
		frame    = "poses as a message of somebody else to the model"
		order    = "tells the model what to do before or beside the use of this tool"
		secret   = "names a place where secrets are kept"
	)
	var all []phrase
	add := func(kind Kind, why string, words ...string) {
		for _, w := range words {
			all = append(all, phrase{kind, w, why})
		}
	}
	add(Instruction, override, "ignore previous", "ignore all previous", "ignore the previous", "ignore your instructions",
		"ignore all other", "disregard previous", "disregard all", "disregard the above", "forget your instructions", "forget everything",
		"override your", "new instructions:", "instead of following")
	add(Instruction, secrecy, "do not tell the user", "don't tell the user", "do not mention", "don't mention", "without telling the user",
		"do not inform the user", "don't inform the user", "hide this from", "keep this secret", "not visible to the user",
		"the user must not", "do not reveal", "do not notify", "without the user")
	add(Instruction, frame, "<important>", "<system>", "</system>", "[system]", "system:", "<instructions>", "system prompt", "<|im_start|>", "[inst]")
	add(Instruction, order, "before using this tool", "before calling this tool", "before you use", "before any other tool", "before calling any",
		"always call this", "always use this tool", "you must call", "you must first", "you must always", "first read the", "then call the",
		"side note", "sidenote", "as a parameter", "pass its content", "pass the content", "include its content", "include the content of", "instead of any other tool")
	add(Secret, secret, "~/.ssh", "id_rsa", "id_ed25519", ".aws/credentials", ".kube/config", "mcp.json", ".env file", "/etc/passwd", "/etc/shadow",
		"private key", "api keys", "environment variables", ".netrc", ".git-credentials", "wallet.dat", "keychain")
	return all
}

// unseen finds characters that do not show, in a text as it stands: those of a decoded one may be of a picture or an
// expression.
func unseen(w *scan, v *view) {
	if v.layer != "" || v.encoded > 0 {
		return
	}
	text, found := v.text, 0
	for i, n := 0, 0; i < len(text); i += n {
		var r rune
		r, n = utf8.DecodeRune(text[i:])
		why := ""
		switch {
		case ' ' <= r && r <= '~', r == utf8.RuneError, r == '\n', r == '\t', r == '\r':
		case 0xe0000 <= r && r <= 0xe007f:
			why = "a tag character, which can carry a whole hidden text"
		case unicode.Is(unicode.Bidi_Control, r):
			why = "a character that changes the direction of writing"
		case r == 0x1b:
			why = "an escape character, which can start a sequence that terminals obey"
		case r == 0x200d || 0xfe00 <= r && r <= 0xfe0f: // parts of emoji
		case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			why = "a character without a shape"
		case unicode.IsControl(r):
			why = "a control character"
		}
		if why == "" {
			continue
		}
		w.add(v, Finding{Kind: Hidden, Class: Injection, Confidence: Medium, Why: fmt.Sprintf("U+%04X, %s", r, why)},
			match{start: i, end: i + n, secret: i, last: i + n})
		if found++; found == mostUnseen {
			return
		}
	}
}
