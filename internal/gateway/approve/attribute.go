package approve

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Bounds of texts of others as a person sees them, in characters.
const (
	maxName  = 80
	maxValue = 240
)

// Bounds of a server's own elicitation as a person sees it.
const (
	maxServerText = 4000 // characters of the message
	maxServerLine = 60   // lines of it
)

// Attribute returns the params of a server's own elicitation (2025-11-25, Elicitation) with a message that names the
// server first. A host attributes the elicitation to Weir, which passes it on, so the name has to be in the text. Every
// line of the server is quoted, and each character that could hide or imitate text is made visible; a text that speaks
// as Weir's approval requests do is flagged.
func Attribute(server string, params json.RawMessage) (json.RawMessage, error) {
	raw, _ := rawjson.Get(params, "message")
	message, _ := rawjson.String(raw)
	var b strings.Builder
	fmt.Fprintf(&b, "Server %s asks you, not Weir. Your answer goes to that server.\n", plain.Quote(server, maxName))
	if imitatesWeir(params) {
		b.WriteString("WARNING: it imitates an approval request of Weir. Nothing that Weir decides depends on the answer.\n")
	}
	lines := strings.Split(strings.TrimSpace(plain.Cut(message, maxServerText)), "\n")
	for i, line := range lines {
		if i == maxServerLine {
			fmt.Fprintf(&b, "(%d more lines)\n", len(lines)-i)
			break
		}
		b.WriteString("> " + plain.Text(strings.TrimSuffix(line, "\r"), 0) + "\n")
	}
	out, err := rawjson.Set(params, rawjson.Quote(strings.TrimSuffix(b.String(), "\n")), "message")
	if err != nil {
		return nil, fmt.Errorf("naming the server that asks: %w", err)
	}
	return out, nil
}

// phrases are the phrases of Weir's approval requests, as skeleton has them.
var phrases = []string{"allowthiscall", "whyyouareasked", "noanswermeansno", "itisallowedonce", "approvalrequest", "wherethiscomesfrom",
	"maybeimpossibletoundo"}

// imitatesWeir reports whether any text in a document reads like a part of Weir's approval requests, or names Weir.
func imitatesWeir(doc json.RawMessage) bool {
	switch rawjson.Kind(doc) {
	case '{':
		for name, value := range rawjson.Members(doc) {
			if speaksAsWeir(name) || imitatesWeir(value) {
				return true
			}
		}
	case '[':
		for value := range rawjson.Elements(doc) {
			if imitatesWeir(value) {
				return true
			}
		}
	case '"':
		text, _ := rawjson.String(doc)
		return speaksAsWeir(text)
	}
	return false
}

func speaksAsWeir(text string) bool {
	words := strings.FieldsFunc(norm.NFKC.String(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Cf, r) })
	for _, w := range words {
		if s := skeleton(w); len(s) == len("weir") && alike(s, "weir") {
			return true
		}
	}
	all := skeleton(text)
	for _, phrase := range phrases {
		for i := 0; i+len(phrase) <= len(all); i++ {
			if alike(all[i:i+len(phrase)], phrase) {
				return true
			}
		}
	}
	return false
}

// skeleton returns the letters of a text in lower case: a ? for each that is not ASCII and may look like any.
func skeleton(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKC.String(text) {
		switch r = unicode.ToLower(r); {
		case 'a' <= r && r <= 'z':
			b.WriteRune(r)
		case unicode.IsLetter(r):
			b.WriteByte('?')
		}
	}
	return b.String()
}

// alike reports whether a skeleton may be read as a phrase of the same length. A phrase of other letters alone is not.
func alike(s, phrase string) bool {
	same := 0
	for i := range len(phrase) {
		switch s[i] {
		case phrase[i]:
			same++
		case '?':
		default:
			return false
		}
	}
	return 2*same >= len(phrase)
}
