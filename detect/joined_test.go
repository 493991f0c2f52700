package detect_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
)

// divided returns documents in which the pieces of a value stand in several strings.
func divided(r *rand.Rand, pieces []string, encoded bool) string {
	quoted := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	var blocks, members, rows []string
	for i, p := range pieces {
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s}`, quoted(p)))
		members = append(members, fmt.Sprintf(`"part%d" : %s`, i, quoted(p)))
		rows = append(rows, fmt.Sprintf(`{"id":%d,"value":%s,"open":true}`, i, quoted(p)))
	}
	beside := [2]string{`"user":"bob",`, `,"region":"eu"`}
	if encoded { // letters beside it would be read as more of it
		beside = [2]string{`"user":"bob (the first)",`, ""}
	}
	docs := []string{
		`{"content":[` + strings.Join(blocks, ",") + `]}`,
		`{"content":[` + strings.Join(blocks, `,{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},`) + `]}`,
		`{"content":[{"type":"text","text":"See below. "},` + strings.Join(blocks, ", ") + `,{"type":"text","text":" Done."}]}`,
		`{"structuredContent":{"lines":` + quoted(pieces) + `}}`,
		`{"structuredContent":{` + beside[0] + strings.Join(members, ",") + beside[1] + `}}`,
		`{"structuredContent":{"rows":[` + strings.Join(rows, ",") + `]}}`,
	}
	docs = append(docs, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted(docs[2])))
	return docs[r.IntN(len(docs))]
}

// A secret is found, and redacted, wherever it is cut in pieces over blocks, members or elements, as it is or encoded.
func TestValuesInPieces(t *testing.T) {
	s := detect.New()
	var rules []detect.Rule
	for _, rule := range detect.Rules() {
		if rule.Class == detect.Credentials && rule.Confidence == detect.High && len(rule.Names) == 0 && !rule.Found() {
			rules = append(rules, rule)
		}
	}
	forms := map[string]func(string) string{
		"plain":  func(s string) string { return s },
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"hex":    encodings()["hex"],
	}
	rapid.Check(t, func(t *rapid.T) {
		rule := rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")]
		form := rapid.SampledFrom([]string{"plain", "plain", "base64", "hex"}).Draw(t, "form")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		value := valid(r, rule)
		if strings.ContainsAny(value, " \n") {
			t.Skip()
		}
		rest, pieces := forms[form](value), []string{}
		for n := rapid.IntRange(2, 6).Draw(t, "pieces"); n > 1 && len(rest) > 1; n-- {
			at := rapid.IntRange(1, len(rest)-1).Draw(t, "at")
			pieces, rest = append(pieces, rest[:at]), rest[at:]
		}
		doc := divided(r, append(pieces, rest), form != "plain")
		found := s.Scan([]byte(doc), detect.JSON, nil).Findings
		if !slices.ContainsFunc(found, func(f detect.Finding) bool { return f.Class == detect.Credentials && f.Confidence == detect.High }) {
			t.Fatalf("%s: %q is not found in %s: %+v", rule.Kind, value, doc, found)
		}
		got, ok := s.Redact([]byte(doc), detect.JSON, values)
		if left := s.Scan(got, detect.JSON, nil).Findings; !ok || slices.ContainsFunc(left, values) {
			t.Fatalf("%v is left in %s of %s", left, got, doc)
		}
		sameShape(t, []byte(doc), got)
	})
}

// Strings that make no value are left alone, whatever stands beside them.
func TestStringsOfNoValue(t *testing.T) {
	s := detect.New()
	for _, doc := range []string{
		`{"rows":[{"cc":"DE","zip":"89370"},{"cc":"FR","zip":"75001"}]}`,
		`{"a":["4539","5787","6362","1486"]}`,
		`{"a":["ghp","_","short"]}`,
		`["AKIA","QYLPMN5HFIQR7XYA and more"]`[:9] + `,"x y"]`,
	} {
		if found := s.Scan([]byte(doc), detect.JSON, nil).Findings; slices.ContainsFunc(found, func(f detect.Finding) bool { return f.Confidence == detect.High }) {
			t.Errorf("%s: found %+v", doc, found)
		}
	}
}

// A value in pieces hides no other finding between them.
func TestPiecesHideNothing(t *testing.T) {
	doc := `{"rows":[{"text":"AKIAQYLP"},{"card":"4539 5787 6362 1486"},{"text":"MN5HFIQR7XYA"}]}`
	found := kindsOf(detect.New().Scan([]byte(doc), detect.JSON, nil).Findings)
	if !slices.Contains(found, "aws-access-key-id") || !slices.Contains(found, "payment-card") {
		t.Errorf("found %v", found)
	}
	got, ok := detect.New().Redact([]byte(doc), detect.JSON, values)
	if want := `{"rows":[{"text":"[redacted:aws-access-key-id]"},{"card":"[redacted:payment-card]"},{"text":"[redacted:aws-access-key-id]"}]}`; !ok || string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
