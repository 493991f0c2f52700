package quarantine_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/quarantine"
	"github.com/weir-mcp/weir/vault"
)

func TestAnswer(t *testing.T) {
	const text = "Dear tenant, the rent rises by CANARY."
	look := &vault.Look{As: vault.OneOf, Options: []string{"up", "down"}, Question: "does the rent rise?"}
	for _, c := range []struct {
		name, answer string
		status       int
		want, err    string
	}{
		{"an answer", `{"choices":[{"message":{"content":"{\"answer\":\"up\"}"}}]}`, 200, `"up"`, ""},
		{"no JSON", `{"choices":[{"message":{"content":"CANARY"}}]}`, 200, "", "no JSON object with an answer"},
		{"no answer", `{"choices":[{"message":{"content":"{}"}}]}`, 200, "", "no JSON object with an answer"},
		{"no completion", `{"error":"CANARY"}`, 200, "", "no completion"},
		{"a refusal", `CANARY`, 401, "", "status 401"},
		{"a redirect", ``, 302, "", "status 302"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(raw, &got)
				if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" || !strings.Contains(string(raw), "CANARY") {
					t.Errorf("%s %v %s", r.URL, r.Header, raw)
				}
				if c.status == http.StatusFound {
					w.Header().Set("Location", "https://elsewhere.example/")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			m := quarantine.New(quarantine.Options{URL: server.URL + "/v1/", Model: "m", Key: "k"})
			answer, err := m.Answer(t.Context(), text, look)
			if string(answer) != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "CANARY")) {
				t.Errorf("%s, %v", answer, err)
			}
			if got["model"] != "m" || got["tools"] != nil {
				t.Errorf("asked %v", got)
			}
		})
	}
}

// A program answers in the same form. It has no environment but its own, and ends in time.
func TestCommand(t *testing.T) {
	t.Setenv("WEIR_SECRET", "CANARY")
	look := &vault.Look{As: vault.OneOf, Options: []string{"up", "down"}, Question: "does the rent rise?"}
	for _, c := range []struct{ name, script, want, err string }{
		{"an answer", `read q; case "$q" in *CANARY*down*|*down*CANARY*) echo '{"answer":"up"}';; esac`, `"up"`, ""},
		{"its environment", `echo "{\"answer\":\"$MINE $WEIR_SECRET\"}"`, `"mine "`, ""},
		{"no JSON", `echo CANARY; echo CANARY >&2`, "", "no JSON object with an answer"},
		{"a failure", `echo CANARY; echo CANARY >&2; exit 3`, "", "exit status 3"},
		{"too much", `while :; do echo '{"answer":"CANARYCANARYCANARYCANARYCANARYCANARYCANARYCANARY"}'; done`, "", "asking the quarantined program"},
		{"too long", `sleep 60`, "", "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeout := time.Minute
			if c.name == "too long" {
				timeout = 100 * time.Millisecond
			}
			p := quarantine.NewCommand([]string{"/bin/sh", "-c", c.script}, []string{"MINE=mine"}, timeout)
			answer, err := p.Answer(t.Context(), "the rent rises by CANARY", look)
			if string(answer) != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "CANARY")) {
				t.Errorf("%s, %v", answer, err)
			}
		})
	}
	absent := quarantine.NewCommand([]string{"/nowhere/model"}, nil, 0)
	if answer, err := absent.Answer(t.Context(), "text", look); err == nil {
		t.Errorf("a program that is not there: %s", answer)
	}
}
