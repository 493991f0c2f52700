// Package detect looks for secrets and for dangerous text in the input of models. A [Scanner] finds secrets, card numbers, bank
// accounts, and instructions to the model that reads a text, hidden or not:
//
//	scanner := detect.New()
//	report := scanner.Scan(result, detect.JSON, salt)
//	for _, f := range report.Findings {
//		fmt.Println(f.Kind, f.Confidence, f.Path, f.Digest)
//	}
//
// [Text] finds characters that people do not see, and instructions to the model, in text that should only describe.
//
// A detector misses a value that no rule describes, so nothing here lowers anything, and no decision rests on it alone. Work is linear
// in the text, memory and the number of findings are bounded, nothing panics, and no finding holds a secret.
package detect

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how many findings of a kind one text gives.
const most = 8

// Text returns the findings in a text, by offset within each kind.
func Text(s string) []Finding {
	return append(hidden(s), phrases(s)...)
}

// hidden finds characters that do not show.
func hidden(s string) (found []Finding) {
	for i, r := range s {
		why := ""
		switch {
		case r == utf8.RuneError || r == '\n' || r == '\t' || r == '\r':
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
		if found = append(found, Finding{Kind: Hidden, Offset: i, Why: fmt.Sprintf("U+%04X, %s", r, why)}); len(found) == most {
			break
		}
	}
	return found
}

// A phrase is a way to say something that should not be said.
type phrase struct {
	kind  Kind
	words string // lower case, one space between words
	why   string
}

// known are the phrases that are looked for. They are taken from published attacks on tool descriptions, in English; they are
// chosen so that an honest description rarely holds one.
func known() []phrase {
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

// phrases finds known phrases, in any case and spacing, and with hidden characters between their letters.
func phrases(s string) (found []Finding) {
	folded, offsets := fold(s)
	for _, p := range known() {
		i := strings.Index(folded, p.words)
		if i < 0 {
			continue
		}
		if found = append(found, Finding{Kind: p.kind, Offset: offsets[i], Why: fmt.Sprintf("%q %s", p.words, p.why)}); len(found) == most {
			break
		}
	}
	return found
}

// fold returns the text in lower case with one space for each run of spaces, without characters that do not show, and the offset in
// s of each of its bytes.
func fold(s string) (string, []int) {
	var b strings.Builder
	offsets := make([]int, 0, len(s)+1)
	space := true
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			if space {
				continue
			}
			r = ' '
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r), unicode.IsControl(r):
			continue
		case r == '\u2019':
			r = '\''
		}
		space = r == ' '
		n := b.Len()
		b.WriteRune(unicode.ToLower(r))
		for range b.Len() - n {
			offsets = append(offsets, i)
		}
	}
	return b.String(), append(offsets, len(s))
}
