package detect_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
)

var scanner = sync.OnceValue(detect.New)

// copied returns the text without its values and all copies of them.
func copied(t interface{ Fatalf(string, ...any) }, text []byte, form detect.Form) []byte {
	found := slices.DeleteFunc(scanner().Scan(text, form, nil).Findings, func(f detect.Finding) bool { return !values(f) })
	more, ok := detect.Copies(text, form, found)
	if !ok {
		t.Fatalf("copies in %s are not looked for", text)
	}
	return detect.Redacted(text, form, append(found, more...))
}

// A value that a rule knows by the name beside it is found without the name, in any encoding.
func TestCopies(t *testing.T) {
	const secret = "q8Zk3Vw9Lm2xT5rB7nY1cD4fG6hJ0kLpQsWuXzE3"
	forms := encodings()
	names := []string{}
	for name := range forms {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, first := range names {
		for _, second := range []string{"plain", "base64", names[len(first)%len(names)]} {
			write, again := forms[first], forms[second]
			if write == nil || again == nil {
				continue
			}
			doc, err := json.Marshal(map[string]any{
				"content":           []any{map[string]string{"type": "text", "text": write("aws_secret_access_key = " + secret + "\n")}},
				"structuredContent": map[string]string{"value": again("it is " + secret + " and more")},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := copied(t, doc, detect.JSON)
			if n := strings.Count(string(got), "[redacted:aws-secret-access-key]"); n < 2 || strings.Contains(string(got), secret) {
				t.Errorf("%s, then %s: %d placeholders in %s", first, second, n, got)
			}
		}
	}
}

// Of each kind of value, no copy is left, wherever it stands.
func TestCopiesOfAnyKind(t *testing.T) {
	rules := detect.Rules()
	rapid.Check(t, func(t *rapid.T) {
		rule := rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")]
		if rule.Class == detect.Injection {
			t.Skip()
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		text := valid(r, rule)
		first, err := json.Marshal(map[string]any{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		found := scanner().Scan(first, detect.JSON, nil).Findings
		i := slices.IndexFunc(found, values)
		if i < 0 {
			t.Skip()
		}
		raw := first[found[i].ValueOffset : found[i].ValueOffset+found[i].ValueSize]
		if len(raw) < 10 || found[i].Layers != nil {
			t.Skip()
		}
		doc := fmt.Appendf(nil, `{"a":%s,"b":["x %s y"]}`, first[5:len(first)-1], raw)
		if got := copied(t, doc, detect.JSON); strings.Contains(string(got), string(raw)) || !json.Valid(got) {
			t.Fatalf("%s became %s", doc, got)
		}
	})
}

// Binary data stays base64, and has a placeholder in whole.
func TestRedactedBinary(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("x AKIAQYLPMN5HFIQR7XYA and more"))
	got := copied(t, []byte(`{"contents":[{"blob":"`+encoded+`"}]}`), detect.JSON)
	want := `{"contents":[{"blob":"` + base64.StdEncoding.EncodeToString([]byte("[redacted:aws-access-key-id]")) + `"}]}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMarked(t *testing.T) {
	at := func(offset, size int) detect.Finding { return detect.Finding{Offset: offset, Size: size} }
	for _, c := range []struct {
		text  string
		form  detect.Form
		found []detect.Finding
		want  string
	}{
		{"abcdef", detect.Plain, nil, "abcdef"},
		{"abcdef", detect.Plain, []detect.Finding{at(2, 2)}, "ab<cd>ef"},
		{"abcdef", detect.Plain, []detect.Finding{at(2, 4)}, "ab<cdef>"},
		{"abcdef", detect.Plain, []detect.Finding{at(0, 2), at(1, 3)}, "<abcd>ef"},
		{`["ab\ncd","ef"]`, detect.JSON, []detect.Finding{at(2, 5)}, `["<ab\nc>d","ef"]`},
		{`["ab","cd",12]`, detect.JSON, []detect.Finding{at(3, 9)}, `["a<b>","cd",12]`},
		{`["ab","c d",12]`, detect.JSON, []detect.Finding{at(3, 9)}, `["a<b>","<c d>",12]`},
		{`[{"type":"text","text":"a b"},{"type":"text","text":"c d"}]`, detect.JSON, []detect.Finding{at(26, 28)},
			`[{"type":"text","text":"a <b>"},{"type":"text","text":"<c> d"}]`},
		{`{"a b":"c"}`, detect.JSON, []detect.Finding{at(2, 3)}, `{"<a b>":"c"}`},
	} {
		if got := string(detect.Marked([]byte(c.text), c.form, c.found, "<", ">")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}
