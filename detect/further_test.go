package detect_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
)

// A canary is found wherever and however it is written, and never elsewhere.
func TestCanaries(t *testing.T) {
	const canary = "Heron-lands/at noon"
	s := detect.NewWith(detect.Options{Canaries: []string{canary}})
	for _, text := range []string{
		canary, "x" + canary + "y", strings.ToUpper(canary), base64.StdEncoding.EncodeToString([]byte("to " + canary)),
		hex.EncodeToString([]byte(canary)), strings.ReplaceAll(canary, "-", "&#45;"), strings.ReplaceAll(canary, "/", `\/`), "He\u200bron-lands/at noon",
	} {
		r := s.Scan([]byte(text), detect.Plain, nil)
		if len(r.Findings) != 1 || r.Findings[0].Class != detect.Canary || r.Findings[0].Confidence != detect.High {
			t.Errorf("%q has %+v", text, r.Findings)
		}
	}
	if r := s.Scan([]byte("Heron-lands/at dusk"), detect.Plain, nil); len(r.Findings) > 0 {
		t.Errorf("found %+v", r.Findings)
	}
	if r := detect.New().Scan([]byte(canary), detect.Plain, nil); len(r.Findings) > 0 {
		t.Errorf("found without being told: %+v", r.Findings)
	}
}

// Values that share beginnings and ends are found as a search for each of them finds them.
func TestCanariesThatOverlap(t *testing.T) {
	value := rapid.StringMatching(`[ab-]{8,12}`)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		values = append(values, values[0][1:]+"a", "b"+values[0][:8])
		s := detect.NewWith(detect.Options{Canaries: values})
		part := rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`[ab-]{0,6}`))
		for range 20 {
			text := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "text"), "")
			found := s.Scan([]byte(text), detect.Plain, nil).Findings
			for _, f := range found {
				if !slices.Contains(values, text[f.Offset:f.Offset+f.Size]) {
					t.Fatalf("%q: found %+v", text, f)
				}
			}
			for at := range text {
				for _, v := range values {
					over := func(f detect.Finding) bool { return f.Offset < at+len(v) && at < f.Offset+f.Size }
					if strings.HasPrefix(text[at:], v) && !slices.ContainsFunc(found, over) {
						t.Fatalf("%q: %q at %d is not in %+v", text, v, at, found)
					}
				}
			}
		}
	})
}

// A canary that has the form of a key is both.
func TestACanaryThatIsAKey(t *testing.T) {
	const key = "AKIAQYLPMN5HFIQR7XYA"
	r := detect.NewWith(detect.Options{Canaries: []string{key}}).Scan([]byte("key "+key), detect.Plain, nil)
	if len(r.Findings) != 2 || r.Findings[0].Class == r.Findings[1].Class {
		t.Errorf("found %+v", r.Findings)
	}
}

// A further search sees decoded forms, and its findings have the places of the encoded ones. Findings outside of the text count for nothing.
func TestFurtherSearches(t *testing.T) {
	search := func(text []byte) (found []detect.Finding) {
		if i := bytes.Index(text, []byte("needle")); i >= 0 {
			found = append(found, detect.Finding{Kind: "own", Class: detect.Personal, Confidence: detect.High, Offset: i, Size: 6, ValueOffset: i, ValueSize: 6})
		}
		return append(found, detect.Finding{Offset: -1, Size: 9}, detect.Finding{Offset: 1, Size: len(text), ValueOffset: 1, ValueSize: len(text)})
	}
	s := detect.NewWith(detect.Options{Further: []detect.Search{search}})
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[a-z ]{0,80}`).Draw(t, "before")
		form := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte("the words " + s + " here")) },
			func(s string) string { return strings.ReplaceAll(s, "e", "%65") },
		}).Draw(t, "form")
		text := before + " " + form("needle") + " after"
		r := s.Scan([]byte(text), detect.Plain, nil)
		if len(r.Findings) != 1 || r.Findings[0].Kind != "own" || !strings.HasPrefix(r.Findings[0].Digest, "sha256:") {
			t.Fatalf("%q has %+v", text, r.Findings)
		}
		if f := r.Findings[0]; f.Offset < len(before) || f.Offset+f.Size > len(text)-len(" after")+1 {
			t.Fatalf("%q: at %d, size %d", text, f.Offset, f.Size)
		}
	})
}
