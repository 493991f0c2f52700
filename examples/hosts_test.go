package examples_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A job without a user makes no call that policy asks about; the next job begins with an agent session of its own.
func TestBatch(t *testing.T) {
	cmd := program(t, "batch", filepath.Join(programs, "server"))
	cmd.Stdin = strings.NewReader(`{"name":"first","calls":[{"name":"read","arguments":{"name":"minutes"}},{"name":"publish","arguments":{"name":"minutes","to":"team"}}]}
{"name":"second","calls":[{"name":"read","arguments":{"name":"minutes"}}]}
`)
	var events strings.Builder
	cmd.Stderr = &events
	raw, err := cmd.Output()
	out := string(raw)
	for _, want := range []string{`"first": read done`, `"batch:first": publish: ask (rule ask-before-acting-on-untrusted)`, `"first": publish failed`, `"second": read done`} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %q is missing in\n%s\n%s", err, want, out, events.String())
		}
	}
	if strings.Contains(out, "published") || strings.Count(events.String(), `"kind":"decision"`) < 4 {
		t.Errorf("%s\n%s", out, events.String())
	}
}

// Each user sees and answers only the requests of the own agent session, which holds only the own data.
func TestWeb(t *testing.T) {
	cmd := program(t, "web", filepath.Join(programs, "server"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	send := func(user, method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.SetBasicAuth(user, user[:1])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode, string(raw)
	}
	const read, publish = `{"name":"read","arguments":{"name":"minutes"}}`, `{"name":"publish","arguments":{"name":"minutes","to":"team"}}`
	if code, _ := send("eve", "POST", "/call", read); code != http.StatusUnauthorized {
		t.Errorf("a user without a password gets %d", code)
	}
	if code, body := send("ann", "POST", "/call", read); code != http.StatusOK || !strings.Contains(body, "Monday") {
		t.Fatalf("%d %s", code, body)
	}
	// Bob's agent session has seen nothing, so policy lets the call go; the server asks its user, whom this host does not show it.
	if _, body := send("bob", "POST", "/call", publish); strings.Contains(body, "rule") || !strings.Contains(body, "no elicitation") {
		t.Errorf("bob gets %s", body)
	}
	for _, answer := range []string{"true", "false"} {
		done := make(chan string, 1)
		go func() {
			_, body := send("ann", "POST", "/call", publish)
			done <- body
		}()
		var id string
		for id == "" {
			_, body := send("ann", "GET", "/requests", "")
			open := map[string]string{}
			if err := json.Unmarshal([]byte(body), &open); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			for one, text := range open {
				if id = one; !strings.HasPrefix(text, "Allow this call of ") {
					t.Errorf("ann reads %s", text)
				}
			}
			select {
			case body := <-done:
				t.Fatalf("nobody was asked: %s", body)
			default:
			}
		}
		if _, body := send("bob", "GET", "/requests", ""); strings.Contains(body, id) {
			t.Errorf("bob reads %s", body)
		}
		if code, _ := send("bob", "POST", "/requests/"+id+"?yes=true", ""); code != http.StatusNotFound {
			t.Errorf("bob answers ann's request: %d", code)
		}
		if code, _ := send("ann", "POST", "/requests/"+id+"?yes="+answer, ""); code != http.StatusOK {
			t.Errorf("ann's answer gives %d", code)
		}
		if body := <-done; strings.Contains(body, "ask-before-acting-on-untrusted") != (answer == "false") {
			t.Errorf("after the answer %s: %s", answer, body)
		}
	}
}
