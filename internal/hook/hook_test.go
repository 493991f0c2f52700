package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/hosts"
)

// TestTable holds the hosts against the table that weir install sets hooks up by.
func TestTable(t *testing.T) {
	for _, h := range hosts.Table {
		known, ok := hook.Lookup(h.ID)
		if ok != (h.Hooks != nil) {
			t.Errorf("%s: hooks are known here: %t, and there: %t", h.ID, ok, h.Hooks != nil)
		}
		if ok && !slices.Equal(known.Events, h.Hooks.Events) {
			t.Errorf("%s: %v, and %v are set up", h.ID, known.Events, h.Hooks.Events)
		}
	}
	for _, id := range hook.IDs() {
		h, _ := hook.Lookup(id)
		if _, err := h.Overlay(); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if !slices.ContainsFunc(hosts.Table, func(row hosts.Host) bool { return row.ID == id }) {
			t.Errorf("%s: weir install does not know the host", id)
		}
	}
}

// TestRecorded reads events that real hosts sent, those of Cursor as others recorded and described them and those of VS
// Code as the sources of its chat write them, one in a line, by the name of their version, and writes an answer of each
// kind to them. A host that does not say in the event which one it is has the name before it.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"claude-code-2.1.197", "codex-0.169.0", "gemini-0.61.0", "qwen-0.15.10", "copilot-1.0.102", "opencode-1.18.33",
		"cursor-2026.09.28", "vscode-0.42.0"} {
		t.Run(name, func(t *testing.T) {
			host := name[:strings.LastIndexByte(name, '-')]
			recorded, err := os.ReadFile("testdata/" + name + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(recorded)) {
				var said struct {
					Event string `json:"hook_event_name"`
					Other string `json:"event"`
				}
				name, text, named := strings.Cut(line, " {")
				if text = "{" + text; !named || strings.HasPrefix(line, "{") {
					name, text = "", line
				}
				if err := json.Unmarshal([]byte(text), &said); err != nil {
					t.Fatal(err)
				}
				said.Event += said.Other + name
				e, err := hook.Parse(host, said.Event, []byte(text))
				if err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				fmt.Fprintf(&got, "%s %s %s %s\n", e.Name, e.Source, e.Tool, e.Input)
				for _, a := range []hook.Answer{{Effect: hook.Pass}, {Effect: hook.Ask, Text: "why"}, {Text: "why"}, {Effect: hook.Pass, Notice: "so"}} {
					o := a.For(e)
					fmt.Fprintf(&got, "  %d %s %s\n", o.Status, strings.TrimSpace(o.Stdout), strings.TrimSpace(o.Stderr))
				}
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// event returns a good event, with members replaced, or taken out where they are nil.
func event(name string, members map[string]any) []byte {
	all := map[string]any{
		"session_id": "s", "cwd": "/w", "hook_event_name": name, "source": "startup",
		"tool_name": "Bash", "tool_use_id": "t", "tool_input": map[string]any{"command": "pwd"}, "tool_response": "/w", "error": "no",
	}
	for k, v := range members {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return text
}

// anyEvent returns a good event of any host: the members of Claude Code are there under the names of other hosts too.
func anyEvent(name string, members map[string]any) []byte {
	all := map[string]any{"event": name, "callID": "t", "error_message": "no", "workspace_roots": []any{"/w"}}
	good := map[string]any{"session_id": "s", "tool_name": "Bash", "tool_input": map[string]any{"command": "pwd"}, "tool_response": "/w"}
	maps.Copy(all, members)
	maps.Copy(good, members)
	for k, others := range map[string][]string{"session_id": {"sessionId", "sessionID", "conversation_id"}, "tool_name": {"toolName", "tool"}, "tool_input": {"toolArgs", "args"},
		"tool_response": {"toolResult", "output", "tool_output"}} {
		for _, other := range others {
			all[other] = good[k]
		}
	}
	return event(name, all)
}

// TestParseRefuses holds events that are not understood: each is an error.
func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("x", 600)
	for _, c := range []struct{ host, name, input string }{
		{"zed", hook.PreToolUse, string(event(hook.PreToolUse, nil))},
		{"cursor", "preToolUse", string(anyEvent("preToolUse", map[string]any{"workspace_roots": []any{}}))},
		{"cursor", "preToolUse", string(anyEvent("preToolUse", map[string]any{"workspace_roots": []any{"/w", "/v"}}))},
		{"cursor", "preToolUse", string(anyEvent("preToolUse", map[string]any{"workspace_roots": []any{"w"}}))},
		{"cursor", "preToolUse", string(anyEvent("preToolUse", map[string]any{"workspace_roots": "/w"}))},
		{"cursor", "preToolUse", string(anyEvent("preToolUse", map[string]any{"workspace_roots": nil}))},
		{"claude-code", "Stop", string(event("Stop", nil))},
		{"codex", hook.PostFailure, string(event(hook.PostFailure, nil))},
		{"claude-code", hook.PreToolUse, string(event(hook.PostToolUse, nil))},
		{"claude-code", hook.PreToolUse, ""},
		{"claude-code", hook.PreToolUse, "[]"},
		{"claude-code", hook.PreToolUse, "{"},
		{"claude-code", hook.PreToolUse, `{"session_id":"a","session_id":"b"}`},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"session_id": nil}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"session_id": ""}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"session_id": 7}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"session_id": long}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"session_id": "a\x00b"}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"tool_name": nil}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"tool_use_id": nil}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"tool_input": nil}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"cwd": nil}))},
		{"claude-code", hook.PreToolUse, string(event(hook.PreToolUse, map[string]any{"transcript_path": 3}))},
		{"claude-code", hook.PostToolUse, string(event(hook.PostToolUse, map[string]any{"tool_response": nil}))},
		{"claude-code", hook.PostFailure, string(event(hook.PostFailure, map[string]any{"error": nil}))},
		{"claude-code", hook.SessionStart, string(event(hook.SessionStart, map[string]any{"source": nil}))},
	} {
		if e, err := hook.Parse(c.host, c.name, []byte(c.input)); err == nil {
			t.Errorf("%s %s %.100s: %+v", c.host, c.name, c.input, e)
		}
	}
}

// A decision is all that hosts read of an answer.
type decision struct {
	Decision, PermissionDecision string
	Permission                   string  // of Cursor, whose pass says allow
	AdditionalContext            *string `json:"additional_context"`
	Continue, Proceed            *bool
	ModifiedResult               *struct{ ResultType string }
	Specific                     struct{ HookEventName, PermissionDecision string } `json:"hookSpecificOutput"`
}

// denials say by which answer each host keeps a call from happening, and its result from the agent.
var denials = map[string]struct{ before, after func(decision) bool }{
	"claude-code": {denied, func(d decision) bool { return d.Decision == "block" }},
	"codex":       {denied, func(d decision) bool { return d.Decision == "block" }},
	"qwen":        {denied, func(d decision) bool { return d.Continue != nil && !*d.Continue }},
	"gemini":      {func(d decision) bool { return d.Decision == "deny" }, func(d decision) bool { return d.Decision == "deny" }},
	"copilot":     {func(d decision) bool { return d.PermissionDecision == "deny" }, func(d decision) bool { return d.ModifiedResult != nil }},
	"vscode":      {denied, func(d decision) bool { return d.Decision == "block" }},
	"opencode":    {stopped, stopped},
	"cursor":      {func(d decision) bool { return d.Permission == "deny" }, func(d decision) bool { return d.AdditionalContext != nil }},
}

func stopped(d decision) bool { return d.Proceed != nil && !*d.Proceed }

func denied(d decision) bool { return d.Specific.PermissionDecision == "deny" }

// TestAnswersAreReadable has the outputs for any text be one JSON object that says deny, ask, or nothing of the call.
func TestAnswersAreReadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host, _ := hook.Lookup(rapid.SampledFrom(hook.IDs()).Draw(t, "host"))
		name := rapid.SampledFrom(host.Events).Draw(t, "event")
		e, err := hook.Parse(host.ID, name, anyEvent(name, nil))
		if err != nil {
			t.Fatal(err)
		}
		a := hook.Answer{Effect: hook.Effect(rapid.IntRange(0, 2).Draw(t, "effect")), Text: rapid.String().Draw(t, "text"), Notice: rapid.String().Draw(t, "notice")}
		o := a.For(e)
		var out decision
		if o.Stdout != "" {
			if err := json.Unmarshal([]byte(o.Stdout), &out); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case a.Effect == hook.Pass:
			if goes := out.Proceed != nil && *out.Proceed; goes != (host.ID == "opencode") {
				t.Fatalf("%+v", o)
			}
			if host.ID == "cursor" && (out.Permission == "allow") == (e.Name == hook.PreToolUse) {
				out.Permission, out.AdditionalContext = "", nil
			}
			if out.Proceed = nil; o.Status != 0 || out != (decision{}) {
				t.Fatalf("%+v", o)
			}
		case e.Name == hook.PreToolUse && a.Effect == hook.Ask && host.ID == "claude-code":
			if out.Specific.PermissionDecision != "ask" {
				t.Fatalf("%+v", o)
			}
		case e.Name == hook.SessionStart:
			if o.Status != 2 {
				t.Fatalf("%+v", o)
			}
		case e.Name == hook.PreToolUse && !denials[host.ID].before(out), e.Name != hook.PreToolUse && !denials[host.ID].after(out):
			t.Fatalf("%+v", o)
		}
	})
}
