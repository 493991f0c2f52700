package provenance_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/provenance"
)

// The naive model: everything is kept, and searched from the beginning each time.
type model struct{ user, trusted, untrusted []string }

// sentence holds the marks that may follow a word without being part of it.
const sentence = ".,!?;:-"

// says reports whether the value stands in one of the texts as it is, with nothing but white space or a sentence's
// punctuation beside it.
func says(texts []string, value string) bool {
	value = strings.TrimSpace(value)
	for _, text := range texts {
		text = " " + text + " "
		for at := 0; ; at++ {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			at += i
			before, after := text[at-1], text[at+len(value):]
			next := strings.TrimLeft(after, sentence)
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-/@_", rune(before)) &&
				(next == "" || strings.ContainsRune(" \n\"", rune(next[0])) || strings.ContainsRune(`")'`, rune(after[0]))) {
				return true
			}
		}
	}
	return false
}

// holds reports whether the letters and digits of the value stand in one of the texts.
func holds(texts []string, value string) bool {
	bare := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	for _, text := range texts {
		if strings.Contains(bare(text), bare(value)) {
			return true
		}
	}
	return false
}

// Texts of few words, so that they share some: the words are not escapes of anything.
func texts() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"ada", "byron@mail.example", "Paris", "the", "of", "12", "2025-01-11", "hotel", "www.shop.example/a", "XK771034", "Söhne",
		"bridge", "to", "Alice", "東京", "evil.example", "mail.example", "send", "O'Hara", "a-b",
	})
	gap := rapid.SampledFrom([]string{" ", "  ", ", ", ". ", "\n", ": ", " \"", "-"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 12).Draw(t, "words") {
			b.WriteString(word.Draw(t, "word"))
			b.WriteString(gap.Draw(t, "gap"))
		}
		return b.String()
	})
}

func (m *model) build() *provenance.Index {
	x := provenance.New(provenance.Options{})
	for _, s := range m.user {
		x.AddUser(s)
	}
	for _, s := range m.untrusted {
		x.Add(page, s)
	}
	for _, s := range m.trusted {
		x.Add(listing, s)
	}
	return x
}

func drawModel(t *rapid.T) *model {
	some := rapid.SliceOfN(texts(), 0, 4)
	return &model{some.Draw(t, "user"), some.Draw(t, "trusted"), some.Draw(t, "untrusted")}
}

// TestModelLowers holds that nothing lowers that the naive model does not find word for word.
func TestModelLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		value := texts().Draw(t, "value")
		got := m.build().Trace(value)
		if got.From == provenance.User && got.Whole && !says(m.user, value) {
			t.Errorf("%q is said to be the user's: %q", value, m.user)
		}
		if got.From == provenance.Trusted && got.Whole && !says(m.trusted, value) {
			t.Errorf("%q is said to be trusted: %q", value, m.trusted)
		}
		if got.From.Only(provenance.User|provenance.Trusted) && !says(append(m.user, m.trusted...), value) {
			t.Errorf("%q is said to be of the user or a trusted source: %q, %q", value, m.user, m.trusted)
		}
		if got.From&provenance.Untrusted != 0 {
			for _, match := range got.Matches {
				if match.Source == page && !holds(m.untrusted, value[match.Start:match.End]) {
					t.Errorf("%q is taken for untrusted content", value[match.Start:match.End])
				}
			}
		}
	})
}

// TestModelRaises holds that untrusted content is found in every encoding and spelling.
func TestModelRaises(t *testing.T) {
	dress := map[string]func(string) string{
		"as it is":   func(s string) string { return s },
		"upper case": strings.ToUpper,
		"zero width": func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
		"more space": func(s string) string { return strings.ReplaceAll(s, " ", " \n ") },
		"quoted":     func(s string) string { return `"` + strings.ReplaceAll(s, " ", "\" \"") + `"` },
		"percent":    func(s string) string { return strings.NewReplacer(" ", "%20", "e", "%65", "S", "%53").Replace(s) },
		"entities":   func(s string) string { return strings.NewReplacer("a", "&#97;", "r", "&#x72;").Replace(s) },
		"glued":      func(s string) string { return strings.ReplaceAll(s, " ", "") },
	}
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		words := rapid.SliceOfN(rapid.StringMatching(`[b-df-hj-np-tv-z]{5,9}`), 3, 30).Draw(t, "words")
		m.untrusted = append(m.untrusted, strings.Join(words, " "))
		from := rapid.IntRange(0, len(words)-3).Draw(t, "from")
		to := rapid.IntRange(from+3, len(words)).Draw(t, "to")
		how := rapid.SampledFrom([]string{"as it is", "upper case", "zero width", "more space", "quoted", "percent", "entities", "glued"}).Draw(t, "how")
		value := dress[how](strings.Join(words[from:to], " "))
		if got := m.build().Trace(value); got.From != provenance.Untrusted {
			t.Errorf("%s: %q is from %q: %+v", how, value, got.From, got.Matches)
		}
	})
}

// FuzzTrace holds that no data and no value makes the index fail, that matches lie inside of the value, and that a value
// that is all the user's stands in the user's words.
func FuzzTrace(f *testing.F) {
	f.Add(userWords, pageText, listingText, "mallory%40evil.example")
	f.Add("a\x00b", "&#x;&amp&#99999999999;", `{"a":"\ud83d\ude00`, `\U0010ffffff%C3%`)
	f.Add("%c3%a9", strings.Repeat("QUJD", 40), `["[\"x\"]"]`, strings.Repeat("QUJD", 40))
	f.Fuzz(func(t *testing.T, user, data, doc, value string) {
		x := provenance.New(provenance.Options{Text: 1 << 13})
		x.AddUser(user)
		x.Add(page, data)
		x.AddJSON(profile, []byte(doc))
		got := x.Trace(value)
		for _, m := range got.Matches {
			if m.Start < 0 || m.End < m.Start || m.At < 0 || (m.How != provenance.Decoded && m.End > len(value)) {
				t.Fatalf("%q: match %+v", value, m)
			}
		}
		if got.From == provenance.User && !strings.Contains(user, strings.Trim(value, " \t\r\n")) {
			t.Errorf("%q is said to be the user's, who said %q", value, user)
		}
	})
}
