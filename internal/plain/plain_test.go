package plain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/plain"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 0, "plain"},
		{"größer 漢字 🙂", 0, "größer 漢字 🙂"},
		{"a\nb\x1b[31m", 0, `a\u{a}b\u{1b}[31m`},
		{"pay\u202egnp", 0, `pay\u{202e}gnp`},
		{"a\u200bb\ufeff\U000e0041", 0, `a\u{200b}b\u{feff}\u{e0041}`},
		{"no\u00a0break", 0, `no\u{a0}break`},
		{"\xff\ufffd", 0, `\xff` + "\ufffd"},
		{"pаypal", 0, `p\u{430}ypal`},
		{"раураl.com", 0, `\u{440}\u{430}\u{443}\u{440}\u{430}l.com`},
		{"сосо.example", 0, `\u{441}\u{43e}\u{441}\u{43e}.example`},
		{"аdmin@bank.example", 0, `\u{430}dmin@bank.example`},
		{"оса и сера, α-helix, Ωmega", 0, `оса и сера, α-helix, \u{3a9}mega`},
		{"ｐａｙ 𝐩𝐚𝐲", 0, `\u{ff50}\u{ff41}\u{ff59} \u{1d429}\u{1d41a}\u{1d432}`},
		{"ışık naïve Ströme 5µm", 0, "ışık naïve Ströme 5µm"},
		{"møde.example", 0, "møde.example"},
		{"ɡithub.com", 0, `\u{261}ithub.com`},
		{"abcdefghij", 6, "abcd […4 characters…] ij"},
		{"abcdef", 6, "abcdef"},
	} {
		if got := plain.Text(c.in, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	for in, want := range map[string]string{
		`say "hi"`:                   `"say \"hi\""`,
		`end\" it`:                   `"end\\\" it"`,
		strings.Repeat("\u200b", 12): `"\u{200b}\u{200b} […9 characters…] \u{200b}"`,
	} {
		if got := plain.Quote(in, 12); got != want {
			t.Errorf("Quote: %s, want %s", got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202eb\xff\x00\u200d", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := plain.Text(s, limit)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
			t.Errorf("Text(%q) = %q hides something", s, got)
		}
		if limit > 0 && limit < 1<<20 && utf8.RuneCountInString(got) > 2*limit+32 {
			t.Errorf("Text(%q, %d) has %d characters", s, limit, utf8.RuneCountInString(got))
		}
		quoted := plain.Quote(s, limit)
		inside := strings.NewReplacer(`\\`, "", `\"`, "").Replace(quoted[1 : len(quoted)-1])
		if strings.Contains(inside, `"`) || strings.HasSuffix(inside, `\`) {
			t.Errorf("Quote(%q) = %s ends before its end", s, quoted)
		}
	})
}
