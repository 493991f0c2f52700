//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A said is one call of a recorded conversation.
type said struct {
	Tool     string
	Input    map[string]any
	Response any
	Wanted   bool // a sensible user wants to be asked
}

// TestConversations plays conversations of coding agents in a repository of the user's own through weir hook:
// nobody is asked about a call without need, and about each call where it is wanted.
func TestConversations(t *testing.T) {
	for _, name := range []string{"go", "python"} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			h.own()
			var asked []string
			h.begin("claude-code", "c")
			calls := h.recorded(name)
			for i, c := range calls {
				id := string(rune('a' + i))
				input, err := json.Marshal(c.Input)
				if err != nil {
					t.Fatal(err)
				}
				out := h.use("claude-code", "c", id, c.Tool, c.Input)
				asks := strings.Contains(out, `"permissionDecision":"ask"`)
				if asks {
					asked = append(asked, c.Tool+" "+string(input))
				}
				if asks != c.Wanted || !asks && strings.Contains(out, "permissionDecision") {
					t.Errorf("%d %s %s: %s", i+1, c.Tool, input, out)
				}
				h.event("claude-code", "PostToolUse", "c", map[string]any{"tool_name": c.Tool, "tool_use_id": id, "tool_input": c.Input, "tool_response": c.Response})
			}
			t.Logf("%d requests in %d calls: %s", len(asked), len(calls), strings.Join(asked, "; "))
		})
	}
}

// own makes the home directory a repository of the user's own work.
func (h *hooked) own() {
	h.t.Helper()
	for path, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n", ".git/objects/.keep": "", ".git/refs/.keep": "",
		"date.go": "package date\n", "date_test.go": "package date\n", "src/app.py": "", "tests/test_app.py": "",
	} {
		path = filepath.Join(h.work(), path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.script("folders", "confirm", "--yes", h.work())
}

// recorded reads a conversation. $W stands for the folder.
func (h *hooked) recorded(name string) (calls []said) {
	h.t.Helper()
	text, err := os.ReadFile("testdata/conversations/" + name + ".jsonl")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "$W", h.work())) {
		var c said
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			h.t.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}
