//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// factsPolicy blocks the third call of a conversation that untrusted content has reached.
const factsPolicy = `version: 1
default: allow
rules:
  - {name: third, when: call, effect: block, if: 'session.calls == 2 && session.sent == 2 && session.untrusted', message: two are enough}
`

const factsConfig = `version: 1
policy: policy.yaml
servers:
  mail: {command: WEIR, args: [demo, server, mail, --data, DATA], trust: trusted}
`

// TestFactsInEveryProcess has a wrap, weir run and a hook make one call each in a conversation, in every order: the facts
// about the conversation are the same for the last of them, whichever process decides.
func TestFactsInEveryProcess(t *testing.T) {
	for _, order := range []string{"hook wrap run", "wrap run hook", "run hook wrap"} {
		t.Run(order, func(t *testing.T) {
			w, config := newFactsWrapper(t)
			id := strings.ReplaceAll(order, " ", "-")
			environ := []string{"CLAUDE_CODE_SESSION_ID=" + id}
			running := &wrapped{t: t}
			w.start(running, environ, []string{w.weir, "run", "--config", config})
			t.Cleanup(running.end)
			wrap := w.wrap("files", environ)
			asks := func(event string, members map[string]any) string {
				members["session_id"], members["cwd"], members["hook_event_name"] = id, w.work(), event
				text, err := json.Marshal(members)
				if err != nil {
					t.Fatal(err)
				}
				_, out := w.run(string(text), "hook", "claude-code", event, "--config", config)
				return out
			}
			asks("SessionStart", map[string]any{"source": "resume"}) // so nothing is known of it: the hook brings untrusted content
			makes := map[string]func() bool{
				"wrap": func() bool { return wrap.call("list_files", `{}`, "") },
				"run":  func() bool { return running.call("send_email", mailToBen, "") },
				"hook": func() bool {
					page := map[string]any{"url": "https://tips.example/focus", "prompt": "sum it up"}
					return asks("PreToolUse", map[string]any{"tool_name": "WebFetch", "tool_use_id": "1", "tool_input": page}) == ""
				},
			}
			for i, process := range strings.Fields(order) {
				w.counted(id, i)
				if went := makes[process](); went != (i < 2) {
					t.Errorf("call %d, by %s: it went: %t", i+1, process, went)
				}
			}
		})
	}
}

// newFactsWrapper returns a host with the policy, and a configuration with it.
func newFactsWrapper(t *testing.T) (w *wrapper, config string) {
	t.Helper()
	w = newWrapper(t, wordsPolicy)
	config = filepath.Join(w.home, "weir.yaml")
	data := filepath.Join(w.home, "data")
	for path, text := range map[string]string{
		w.policy: factsPolicy, config: strings.NewReplacer("WEIR", w.weir, "DATA", data).Replace(factsConfig), filepath.Join(data, ".keep"): "",
		filepath.Join(w.work(), ".keep"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w, config
}

// counted waits until the store has counted the calls of a conversation.
func (w *wrapper) counted(id string, calls int) {
	w.t.Helper()
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, last = w.run("", "session", "list", "--json")
		var all struct {
			Sessions []struct {
				Key   string
				Calls int
			}
		}
		if err := json.Unmarshal([]byte(last), &all); err != nil {
			w.t.Fatal(err)
		}
		n := 0
		for _, s := range all.Sessions {
			if s.Key == "local/claude-code:"+id {
				n = s.Calls
			}
		}
		if n == calls {
			return
		}
	}
	w.t.Fatalf("the store never counted %d calls of %s: %s", calls, id, last)
}
