package evidence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/evidence"
)

func TestPlaces(t *testing.T) {
	for place, ok := range map[string]bool{
		"https://e.example/":          true,
		"https://e.example:8443/a/b/": true,
		"http://127.0.0.1:1/a/":       true,
		"http://localhost/":           true,
		"http://e.example/":           false,
		"https://e.example":           false,
		"https://e.example/a":         false,
		"https://e.example/a/../":     false,
		"https://e.example/a%2f/":     false,
		"https://u@e.example/":        false,
		"https://e.example/?a/":       false,
		"https://e.example/#a/":       false,
		"ftp://e.example/":            false,
		"file:///records/":            false,
		"":                            false,
		"https:///a/":                 false,
		"https://e.example/\x00/":     false,
	} {
		if _, err := evidence.New(place); (err == nil) != ok {
			t.Errorf("%q: %v", place, err)
		}
	}
}

// A server that refers to records cannot lead Weir to any other place.
func TestHolds(t *testing.T) {
	r, err := evidence.New("https://e.example/records/", "http://127.0.0.1:8080/")
	if err != nil {
		t.Fatal(err)
	}
	for ref, holds := range map[string]bool{
		"https://e.example/records/1":                 true,
		"https://e.example/records/a/b.json":          true,
		"http://127.0.0.1:8080/1":                     true,
		"https://e.example/records/":                  false,
		"https://e.example/records":                   false,
		"https://e.example/recordsets/1":              false,
		"https://e.example/records/../1":              false,
		"https://e.example/records/%2e%2e/1":          false,
		"https://e.example/records/a%2f..%2f..%2f1":   false,
		"https://e.example/records/..%5c1":            false,
		"https://e.example/records/a\\..\\..\\1":      false,
		"https://e.example/records//1":                false,
		"https://e.example/records/;/../1":            false,
		"https://e.example/records/1?q=secret":        false,
		"https://e.example/records/1?":                false,
		"https://e.example/records/1#secret":          false,
		"https://u:p@e.example/records/1":             false,
		"https://e.example@evil.example/records/1":    false,
		"https://e.example.evil.example/records/1":    false,
		"https://e.example:444/records/1":             false,
		"http://e.example/records/1":                  false,
		"https://E.example/records/1":                 false,
		"//e.example/records/1":                       false,
		"/records/1":                                  false,
		"":                                            false,
		"https://e.example/records/1\r\nHost: evil":   false,
		"http://169.254.169.254/latest/meta-data/iam": false,
		"https://e.example\t/records/1":               false,
	} {
		if r.Holds(annotation.Evidence{Ref: ref}) != holds {
			t.Errorf("%q is held: %v", ref, !holds)
		}
		if !holds {
			if _, err := r.Record(t.Context(), annotation.Evidence{Ref: ref}); err == nil || !strings.Contains(err.Error(), "not trusted") {
				t.Errorf("%q: %v", ref, err)
			}
		}
	}
}

func TestRecord(t *testing.T) {
	const record = `{"integrity":"untrusted","confidentiality":"private"}`
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked[q.URL.Path]++
		if len(q.Cookies()) > 0 || q.Header.Get("Authorization") != "" || q.Header.Get("Referer") != "" {
			t.Errorf("the request has more than a path: %v", q.Header)
		}
		switch q.URL.Path {
		case "/r/right", "/r/again":
			fmt.Fprint(w, record)
		case "/r/spaced":
			fmt.Fprint(w, strings.ReplaceAll(record, ":", " :\n"))
		case "/r/other":
			fmt.Fprint(w, `{"integrity":"trusted","confidentiality":"public"}`)
		case "/r/large":
			fmt.Fprint(w, strings.Repeat(" ", 1<<16), record)
		case "/r/moved":
			http.Redirect(w, q, "/r/right", http.StatusFound)
		case "/r/short":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, record)
		default:
			http.NotFound(w, q)
		}
	}))
	defer server.Close()
	digest, err := annotation.Digest(annotation.CBOR, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{"spaced", ""}, {"other", "another digest"}, {"large", "more than 65536 bytes"}, {"moved", "answers 302"},
		{"short", "breaks off"}, {"none", "answers 404"}, {"right", ""},
	} {
		records, err := evidence.New(server.URL + "/r/")
		if err != nil {
			t.Fatal(err)
		}
		e := annotation.Evidence{Type: annotation.FIDES, Digest: digest, Canonicalization: annotation.CBOR, Ref: server.URL + "/r/" + c.name}
		got, err := records.Record(t.Context(), e)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), server.URL) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || e.Check(got) != nil:
			t.Errorf("%s: %q %v", c.name, got, err)
		}
		if c.name != "right" {
			continue
		}
		e.Ref = server.URL + "/r/again" // a digest has one record, wherever it is
		if _, err := records.Record(t.Context(), e); err != nil || asked["/r/again"] != 0 || asked["/r/right"] != 1 {
			t.Errorf("%v: a record that is known is asked for: %v", err, asked)
		}
	}
}

// A place that is down delays one result, and one whose caller gives up is not down.
func TestDown(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	records, err := evidence.New(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	e := annotation.Evidence{Type: annotation.FIDES, Digest: "sha256:" + strings.Repeat("0", 64), Canonicalization: annotation.JCS, Ref: server.URL + "/1"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := records.Record(ended, e); err == nil || asked.Load() != 0 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	for _, want := range []string{"does not answer", "did not answer a moment ago", "did not answer a moment ago"} {
		if _, err := records.Record(t.Context(), e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n := asked.Load(); n == 0 || n > 2 { // net/http tries a request once more
		t.Errorf("%d requests", n)
	}
}
