package detect_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
)

// encodings are the forms that values are found under.
func encodings() map[string]func(string) string {
	each := func(format func(c rune) string) func(string) string {
		return func(s string) (out string) {
			for _, c := range s {
				out += format(c)
			}
			return out
		}
	}
	b64, hexed := base64.StdEncoding.EncodeToString, func(s string) string { return hex.EncodeToString([]byte(s)) }
	return map[string]func(string) string{
		"plain":             func(s string) string { return s },
		"json":              func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"json in json":      func(s string) string { b, _ := json.Marshal(s); b, _ = json.Marshal(string(b)); return string(b) },
		"json escapes":      each(func(c rune) string { return fmt.Sprintf(`\u%04x`, c) }),
		"hexadecimal bytes": each(func(c rune) string { return fmt.Sprintf(`\x%02x`, c) }),
		"html":              html.EscapeString,
		"html numbers":      each(func(c rune) string { return fmt.Sprintf("&#%d;", c) }),
		"html hexadecimal":  each(func(c rune) string { return fmt.Sprintf("&#x%x;", c) }),
		"percent":           url.PathEscape,
		"percent all":       each(func(c rune) string { return fmt.Sprintf("%%%02X", c) }),
		"base64":            func(s string) string { return b64([]byte(s)) },
		"base64 url":        func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 inside":     func(s string) string { return b64([]byte("some text before, " + s + "\nand some behind")) },
		"base64 twice":      func(s string) string { return b64([]byte(b64([]byte(s)))) },
		"base64 lines": func(s string) string {
			text := b64([]byte("a line of text that comes before, so that there are several lines of it " + s))
			var lines []string
			for line := range slices.Chunk([]byte(text), 76) {
				lines = append(lines, string(line))
			}
			return strings.Join(lines, "\n")
		},
		"base64 of json": func(s string) string { b, _ := json.Marshal(s); return b64(b) },
		"base64 of hex":  func(s string) string { return b64([]byte(hexed(s))) },
		"hex":            hexed,
		"hex capitals":   func(s string) string { return strings.ToUpper(hexed(s)) },
		"hex twice":      func(s string) string { return hexed(hexed(s)) },
		"hex of base64":  func(s string) string { return hexed(b64([]byte(s))) },
		"zero width":     each(func(c rune) string { return string(c) + "\u200b" }),
		"joiners":        each(func(c rune) string { return string(c) + "\u2060" }),
		"soft hyphens":   each(func(c rune) string { return string(c) + "\u00ad" }),
		"bidi":           each(func(c rune) string { return "\u202d" + string(c) + "\u202c" }),
		"tags": each(func(c rune) string {
			if c == '\n' {
				return "\n"
			}
			return string(0xe0000 + c)
		}),
		"fullwidth": each(func(c rune) string {
			if c <= ' ' {
				return string(c)
			}
			return string(c + 0xfee0)
		}),
		"other digits": each(func(c rune) string {
			if '0' <= c && c <= '9' {
				return string(c - '0' + '٠')
			}
			return string(c)
		}),
	}
}

// placed returns a document with a value at some place of some block.
func placed(r *rand.Rand, value string) (doc string, form detect.Form) {
	before := []string{"", "The key is ", "x=1\n", "Grüße, 世界. ", "\t(", "a \"b\" ", strings.Repeat("lorem ipsum dolor ", r.IntN(40))}[r.IntN(7)]
	behind := []string{"", " and more", "\n", ".", ")", ", next", "<br>"}[r.IntN(7)]
	text := before + value + behind
	quoted, _ := json.Marshal(text)
	switch r.IntN(5) {
	case 0:
		return text, detect.Plain
	case 1:
		return fmt.Sprintf(`{"content":[{"type":"text","text":"ok"},{"type":"text","text":%s}]}`, quoted), detect.JSON
	case 2:
		return fmt.Sprintf(`{"structuredContent":{"rows":[{"n":%s}]}}`, quoted), detect.JSON
	case 3:
		return fmt.Sprintf(`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":%s}}]}`, quoted), detect.JSON
	default:
		return fmt.Sprintf(`{"content":[{"type":"resource","resource":{"blob":%q}}]}`, base64.StdEncoding.EncodeToString([]byte(text))), detect.JSON
	}
}

func kindsOf(found []detect.Finding) (out []detect.Kind) {
	for _, f := range found {
		out = append(out, f.Kind)
	}
	return out
}

// stronger are kinds that a value of another kind may be found as, where both forms hold.
var stronger = map[detect.Kind][]detect.Kind{
	"gitlab-personal-token": {"gitlab-routable-token"},
	"bearer-token":          {"assigned-secret"},
	"injected-instructions": {"hidden-text"}, // under tag characters
}

// Every kind is found at any place of any block under every encoding.
func TestScanFindsEveryKind(t *testing.T) {
	s := detect.New()
	forms := encodings()
	for _, rule := range detect.Rules() {
		t.Run(string(rule.Kind), func(t *testing.T) {
			for name, encode := range forms {
				if rule.Kind == "hidden-text" && strings.Contains("json escapes,hexadecimal bytes,percent all,tags,fullwidth,zero width,joiners,soft hyphens,bidi", name) {
					continue // these encode ASCII, or by characters that do not show
				}
				for seed := range uint64(3) {
					r := rand.New(rand.NewPCG(seed, uint64(len(rule.Kind)*len(name))))
					value := valid(r, rule)
					doc, form := placed(r, encode(value))
					report := s.Scan([]byte(doc), form, nil)
					ok := slices.ContainsFunc(report.Findings, func(f detect.Finding) bool {
						return f.Kind == rule.Kind || slices.Contains(stronger[rule.Kind], f.Kind)
					})
					if !ok {
						t.Fatalf("%s, seed %d: %q in %q: found %v, cut %t", name, seed, value, doc, kindsOf(report.Findings), report.Cut)
					}
					for _, f := range report.Findings {
						if f.Offset < 0 || f.Size <= 0 || f.Offset+f.Size > len(doc) {
							t.Errorf("%s: the span %d+%d is outside of %d bytes", name, f.Offset, f.Size, len(doc))
						}
					}
				}
			}
		})
	}
}

// A value with a checksum is not found once a character of it has changed.
func TestScanNearMisses(t *testing.T) {
	s := detect.New()
	kinds := []detect.Kind{"github-token", "npm-token", "age-secret-key", "nostr-secret-key", "bip32-private-key", "iban", "payment-card",
		"br-cpf", "de-tax-id", "in-aadhaar", "nl-bsn", "pl-pesel", "cn-resident-id", "tr-tckn"}
	for _, rule := range detect.Rules() {
		if !slices.Contains(kinds, rule.Kind) {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			value := []byte(valid(r, rule))
			at := rapid.IntRange(len(value)-5, len(value)-1).Draw(t, "at")
			old := value[at]
			for value[at] == old {
				value[at] = drawn(r, map[bool]string{true: `[0-9]`, false: `[2-9]`}[rule.Class == detect.Financial || rule.Class == detect.Personal])[0]
			}
			if found := s.Scan(value, detect.Plain, nil).Findings; slices.Contains(kindsOf(found), rule.Kind) {
				t.Fatalf("%s is found in %q", rule.Kind, value)
			}
		})
	}
}

func TestScanLeavesAlone(t *testing.T) {
	s := detect.New()
	for _, text := range []string{
		"", " ", "no secret here", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "AKIAIOSFODNN7EXAMPLE", "api_key = os.environ['API_KEY']",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "password: ${DB_PASSWORD}", `"password": "<your password here>"`,
		"task-7f3a2b1c9d8e7f6a5b4c3d2e1f0a9b8c", "4111 1111 1111 1111", "4242424242424242", "order 4539578763621486123",
		"sha256:3b1f6c1f1f0e4b1a8a9c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6", "password := readPassword(stdin)", "DE00 3704 0044 0532 0130 00",
		"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"https://user:password@example.com", "Authorization: Bearer <token>", "Basic authentication is off", "xoxb-your-token-here",
	} {
		found := s.Scan([]byte(text), detect.Plain, nil).Findings
		if slices.ContainsFunc(found, func(f detect.Finding) bool { return f.Confidence > detect.Low }) {
			t.Errorf("%q: found %+v", text, found)
		}
	}
}

func TestScanSays(t *testing.T) {
	const key = "AKIA2E0A8F3B244C9986"
	salt := []byte("salt")
	doc := `{"content":[{"type":"text","text":"a\nAKIAQYLPMN5HFIQR7XYA"}],"a/b":{"k":"QUtJQVFZTFBNTjVIRklRUjdYWUE="}}`
	found := detect.New().Scan([]byte(doc), detect.JSON, salt).Findings
	if len(found) != 2 {
		t.Fatalf("found %+v in %s, not %s", found, doc, key)
	}
	first, second := found[0], found[1]
	if doc[first.Offset:first.Offset+first.Size] != "AKIAQYLPMN5HFIQR7XYA" || first.Path != "/content/0/text" || len(first.Layers) != 0 {
		t.Errorf("the first is %+v", first)
	}
	if !slices.Equal(second.Layers, []detect.Layer{detect.Base64}) || second.Path != "/a~1b/k" || second.Digest != first.Digest {
		t.Errorf("the second is %+v", second)
	}
	if first.Class != detect.Credentials || first.Confidence != detect.High || !strings.HasPrefix(first.Digest, "sha256:") {
		t.Errorf("the first is %+v", first)
	}
	other := detect.New().Scan([]byte(doc), detect.JSON, nil).Findings
	if other[0].Digest == first.Digest {
		t.Error("the salt changes nothing")
	}
}

// A long text is read in parts, and what stands across their borders is found once.
func TestScanAcrossChunks(t *testing.T) {
	s := detect.New()
	for _, at := range []int{0, 1000, 1<<16 - 60, 1<<16 - 10, 1<<16 + 1, 3<<16 - 20, 200000} {
		text := strings.Repeat("ü \\n ", 60000)
		text = text[:at-at%6] + " AKIAQYLPMN5HFIQR7XYA " + text[at-at%6:]
		ascii := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(text, "ü", "uu")))
		for name, doc := range map[string]string{"escaped": text, "base64": ascii} {
			report := s.Scan([]byte(doc), detect.Plain, nil)
			if len(report.Findings) != 1 || report.Cut {
				t.Errorf("%s at %d: found %+v, cut %t", name, at, report.Findings, report.Cut)
			}
		}
	}
}

// Scans of many at once do not disturb each other.
func TestScanConcurrently(t *testing.T) {
	s := detect.New()
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for j := range 50 {
				r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				rules := detect.Rules()
				rule := rules[r.IntN(len(rules))]
				doc, form := placed(r, valid(r, rule))
				if report := s.Scan([]byte(doc), form, nil); len(report.Findings) == 0 {
					t.Errorf("%s: nothing is found in %s", rule.Kind, doc)
				}
			}
		})
	}
}

func TestRules(t *testing.T) {
	seen := map[detect.Kind]bool{}
	for _, r := range detect.Rules() {
		if seen[r.Kind] {
			t.Errorf("%s has two rules", r.Kind)
		}
		seen[r.Kind] = true
		if r.Name == "" || r.Source == "" || r.Class == "" {
			t.Errorf("%s: a rule needs a name, a source and a class", r.Kind)
		}
	}
	if len(seen) < 100 {
		t.Errorf("there are %d rules", len(seen))
	}
}

// Work is linear: reading all views of a text is bounded by its size, and so are findings.
func FuzzScan(f *testing.F) {
	s := detect.New()
	for _, text := range hostileTexts() {
		f.Add(text[:200])
	}
	for _, rule := range detect.Rules() {
		f.Add([]byte(valid(rand.New(rand.NewPCG(1, 1)), rule)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, form := range []detect.Form{detect.Plain, detect.JSON} {
			report := s.Scan(text, form, nil)
			if len(report.Findings) > 4*64 {
				t.Errorf("%d findings", len(report.Findings))
			}
			for i, one := range report.Findings {
				if one.Offset < 0 || one.Size <= 0 || one.Offset+one.Size > len(text) || one.Why == "" {
					t.Errorf("%+v in %q", one, text)
				}
				if i > 0 && report.Findings[i-1].Offset > one.Offset {
					t.Errorf("%+v is out of order", one)
				}
			}
		}
	})
}
