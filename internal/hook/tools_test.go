package hook_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// TestOddPaths has a session with untrusted content write by paths that a host may resolve in its own way: each is
// asked about, as are edits of a file that the host would search for.
func TestOddPaths(t *testing.T) {
	for host, tools := range map[string][2]string{"gemini": {"write_file", "replace"}, "qwen": {"write_file", "edit"}, "copilot": {"create", "edit"},
		"claude-code": {"Write", "Edit"}} {
		t.Run(host, func(t *testing.T) {
			name := "file_path"
			if host == "copilot" {
				name = "path"
			}
			m := newMachine(t, host)
			m.warm = true
			d := dialects[host]
			m.file("docs/notes.md", "x")
			m.begins(d, "s")
			m.asks(d, "s", d.fetch, "")
			goes := func(tool, path string) bool { return m.asks(d, "s", call{tool, input{name: path}}, "") == hook.Pass }
			for _, path := range []string{"docs/plan.md", "./docs/plan.md", filepath.Join(m.work, "docs/notes.md"), "a b.md"} {
				if !goes(tools[0], path) {
					t.Errorf("%s is asked about", path)
				}
			}
			for _, path := range []string{"@docs/plan.md", "@/docs/plan.md", "docs/../x.md", "docs//plan.md", " plan.md", "plan.md ", "~/plan.md",
				"a\x00b.md", `a\ b.md`, "a\u00a0b.md", "", "x/./y.md"} {
				if goes(tools[0], path) {
					t.Errorf("%q goes", path)
				}
			}
			if !goes(tools[1], "docs/notes.md") || host != "claude-code" && goes(tools[1], "notes.md") {
				t.Error("an edit of a file that is there is asked about, or one of a file to be searched for goes")
			}
		})
	}
}

// TestPathsOfGemini holds that a path which goes leads to the same file in Gemini CLI: its way to find one is played here.
func TestPathsOfGemini(t *testing.T) {
	d := dialects["gemini"]
	m := newMachine(t, "gemini")
	m.warm = true
	all := []string{m.file("a.md", ""), m.file("docs/a.md", ""), m.file("docs/b.md", ""), m.file("@/b.md", "")}
	m.begins(d, "s")
	m.asks(d, "s", d.fetch, "")
	there := func(p string) bool { _, err := os.Stat(p); return err == nil }
	resolve := func(p string) string {
		p = strings.ReplaceAll(p, "\x00", "")
		if strings.HasPrefix(p, "@") && !there(filepath.Join(m.work, p)) {
			p = strings.TrimPrefix(strings.TrimPrefix(p, "@"), "/")
		}
		if full := filepath.Join(m.work, p); filepath.IsAbs(p) {
			return filepath.Clean(p)
		} else if there(full) {
			return full
		}
		for _, file := range all {
			if strings.HasSuffix(file, "/"+p) {
				return file
			}
		}
		return filepath.Join(m.work, p)
	}
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"@", "/", "a.md", "b.md", "docs", "..", ".", "\x00", " ", m.work}), 1, 5).Draw(t, "path"), "")
		want := path
		if !filepath.IsAbs(path) {
			want = filepath.Join(m.work, path)
		}
		if m.asks(d, "s", call{"replace", input{"file_path": path}}, "") == hook.Pass && resolve(path) != filepath.Clean(want) {
			t.Fatalf("%q goes, and leads to %s", path, resolve(path))
		}
	})
}

// TestSearches holds which searches bring the user's own text alone: those of one folder that is there, as Weir and the
// host read it.
func TestSearches(t *testing.T) {
	for _, c := range []struct {
		host, tool string
		input      input
		own        bool
	}{
		{"gemini", "grep_search", input{"pattern": "x"}, false}, {"gemini", "grep_search", input{"pattern": "x", "dir_path": "sub"}, true},
		{"gemini", "grep_search", input{"pattern": "x", "dir_path": ""}, false}, {"gemini", "grep_search", input{"pattern": "x", "dir_path": nil}, false},
		{"gemini", "grep_search", input{"pattern": "x", "dir_path": "@sub"}, false}, {"gemini", "grep_search", input{"pattern": "x", "dir_path": "none"}, false},
		{"gemini", "grep_search", input{"pattern": "x", "dir_path": "sub", "include_pattern": "../**"}, false},
		{"gemini", "glob", input{"pattern": "*.md"}, false}, {"gemini", "glob", input{"pattern": "**/*.{ts,tsx}", "dir_path": "."}, true},
		{"qwen", "grep_search", input{"pattern": "x"}, false}, {"qwen", "glob", input{"pattern": "*.md"}, false},
		{"qwen", "glob", input{"pattern": "src/**/a-?.ts", "path": "sub"}, true}, {"qwen", "glob", input{"pattern": "../stranger/**", "path": "sub"}, false},
		{"qwen", "glob", input{"pattern": "/tmp/*", "path": "sub"}, false}, {"qwen", "glob", input{"pattern": "{,x}/tmp/*", "path": "sub"}, false},
		{"qwen", "glob", input{"pattern": ".{.,}/s/*", "path": "sub"}, false}, {"qwen", "glob", input{"pattern": "[.][.]/s/*", "path": "sub"}, false},
		{"qwen", "glob", input{"pattern": " /tmp/*", "path": "sub"}, false}, {"qwen", "glob", input{"pattern": "~/*", "path": "sub"}, false},
		{"qwen", "glob", input{"pattern": 1, "path": "sub"}, false},
		{"copilot", "grep", input{"pattern": "x"}, true}, {"copilot", "grep", input{"pattern": "x", "paths": "sub"}, true},
		{"copilot", "grep", input{"pattern": "x", "paths": []any{"sub", "a.md"}}, true},
		{"copilot", "grep", input{"pattern": "x", "paths": "sub ../stranger"}, false},
		{"copilot", "grep", input{"pattern": "x", "paths": []any{"sub ../stranger"}}, false},
		{"copilot", "grep", input{"pattern": "x", "paths": []any{}}, false}, {"copilot", "grep", input{"pattern": "x", "paths": "sub\t/tmp"}, false},
		{"copilot", "grep", input{"pattern": "x", "paths": "sub,a.md"}, false}, {"copilot", "grep", input{"pattern": "x", "paths": []any{[]any{"/"}}}, false},
		{"copilot", "glob", input{"pattern": "*.md", "paths": "a b"}, false}, {"copilot", "glob", input{"pattern": "../*.md"}, false},
		{"claude-code", "Glob", input{"pattern": "**/*.go"}, true}, {"claude-code", "Glob", input{"pattern": "/tmp/**"}, false},
		{"claude-code", "Grep", input{"pattern": "x"}, true},
	} {
		m := newMachine(t, c.host)
		m.file("sub/x", "")
		m.file("a.md", "")
		m.file("a b/x", "")
		d := dialects[c.host]
		m.begins(d, "s")
		if got := m.asks(d, "s", call{c.tool, c.input}, ""); got != hook.Pass {
			t.Errorf("%s %s %v: %v", c.host, c.tool, c.input, got)
		}
		for s, err := range m.store.List(t.Context(), "local") {
			if err != nil || s.Label.Untrusted == c.own {
				t.Errorf("%s %s %v: %v, %v", c.host, c.tool, c.input, s.Label, err)
			}
		}
	}
}

// TestServersWithoutFile decides on tools of servers that Copilot CLI has in no file, whatever entries run Weir.
func TestServersWithoutFile(t *testing.T) {
	d := dialects["copilot"]
	m := newMachine(t, "copilot")
	m.warm = true
	m.decider = m.process()
	m.decider.Entries = []string{"weir", "github", "computer", "playwright", "github-mcp-server"}
	m.begins(d, "s")
	m.asks(d, "s", d.fetch, "")
	for tool, goes := range map[string]bool{"weir-github_create_issue": true, "github-mcp-server-create_issue": false, "github-create_issue": false,
		"computer-use-click": false, "playwright-navigate": false, "weir-": false} {
		if got := m.asks(d, "s", call{tool, input{"body": "AWS=1"}}, "") == hook.Pass; got != goes {
			t.Errorf("%s goes: %t", tool, got)
		}
	}
}

// TestNewSessionOfFolder has the user begin a new agent session for a folder: a conversation of before that goes on there is
// not clean, nor one whose beginning nobody saw, and one that begins then is.
func TestNewSessionOfFolder(t *testing.T) {
	for _, id := range []string{"gemini", "qwen"} {
		for name, c := range map[string]struct {
			goes   func(m *machine)
			inside string
			clean  bool
		}{
			"goes on":        {func(*machine) {}, "old", false},
			"begins again":   {func(m *machine) { m.begins(dialects[id], "old") }, "old", false},
			"never seen":     {func(*machine) {}, "unseen", false},
			"begins then":    {func(m *machine) { m.begins(dialects[id], "new") }, "new", true},
			"began and ends": {func(m *machine) { m.begins(dialects[id], "new") }, "old", false},
		} {
			d := dialects[id]
			m := newMachine(t, id)
			m.begins(d, "old")
			m.asks(d, "old", d.fetch, "")
			folder, err := filepath.EvalSymlinks(m.work)
			if err != nil {
				t.Fatal(err)
			}
			book := conversation.Open(filepath.Join(m.state, "conversations"))
			_, err = book.Renew(key("folder", folder), time.Now(), func(next conversation.Note) error {
				ref := func(key string) session.Ref { return session.Ref{Key: key, Principal: "local"} }
				questions := approve.NewBook(approve.Options{Record: record.Discard(), Store: m.store})
				return questions.Begin(t.Context(), ref(next.Key), ref(next.Session()))
			})
			if err != nil {
				t.Fatal(err)
			}
			c.goes(m)
			if got := m.asks(d, c.inside, d.send, "") == hook.Pass; got != c.clean {
				t.Errorf("%s, %s: clean is %t", id, name, got)
			}
		}
	}
}

// TestExpandedTexts has a call whose text the host expands count as one that returns anything, so nothing leaves after it.
func TestExpandedTexts(t *testing.T) {
	for text, want := range map[string]bool{"look around": true, "read @~/.ssh/id_rsa": false, "@/etc/passwd": false, "(@x)": false} {
		for _, name := range []string{"prompt", "command", "description"} {
			m := newMachine(t, "opencode")
			d := dialects["opencode"]
			m.begins(d, "s")
			m.asks(d, "s", call{"task", input{"prompt": "x", name: text, "subagent_type": "general"}}, "done")
			if got := m.asks(d, "s", d.fetch, "") == hook.Pass; got != want {
				t.Errorf("%s %q: a later fetch goes: %v", name, text, got)
			}
		}
	}
	for _, c := range []struct {
		call
		goes bool
	}{ // in a conversation with untrusted content, which a command brings
		{call{"SlashCommand", input{"command": "/review x"}}, true}, {call{"SlashCommand", input{"command": "/review @~/.ssh/id_rsa"}}, false},
		{call{"Skill", input{"skill": "review", "args": "x"}}, true}, {call{"Skill", input{"skill": "review", "args": "@~/.ssh/id_rsa"}}, false},
	} {
		m, d := newMachine(t, "claude-code"), dialects["claude-code"]
		m.begins(d, "s")
		m.asks(d, "s", call{"SlashCommand", input{"command": "/review"}}, "done")
		if got := m.asks(d, "s", c.call, "") == hook.Pass; got != c.goes {
			t.Errorf("%v goes: %v", c.call, got)
		}
	}
	m := newMachine(t, "opencode")
	d := dialects["opencode"]
	m.begins(d, "s")
	if got := m.asks(d, "s", call{"task", input{"prompt": input{"@x": "@y"}}}, ""); m.asks(d, "s", d.fetch, "") == hook.Pass {
		t.Errorf("a prompt that is no text: %v, and a fetch goes", got)
	}
}

// TestOpenedConversations has a conversation into which a project may put files count as the worst, also once its settings are gone.
func TestOpenedConversations(t *testing.T) {
	d := dialects["opencode"]
	for _, opens := range []bool{false, true} {
		m := newMachine(t, "opencode")
		m.warm = true
		m.decider = m.process()
		m.decider.Opens = opens
		if a := m.begins(d, "s"); (a.Notice != "") != opens {
			t.Errorf("opens %v: %q", opens, a.Notice)
		}
		m.decider.Opens = false
		if got := m.asks(d, "s", d.fetch, "") == hook.Pass; got == opens {
			t.Errorf("opens %v at the start: a fetch goes: %v", opens, got)
		}
		m.decider.Opens = true
		if m.asks(d, "s", d.fetch, "") == hook.Pass {
			t.Error("a fetch goes after files came")
		}
	}
}

// pageAlone are the tools that load the page of an address and nothing that it names. Only for them url.reference tells
// who learns of a call: a browser runs scripts of the authors of packages.
var pageAlone = []string{
	"claude-code WebFetch", "copilot web_fetch", "opencode webfetch", "qwen web_fetch", "fetch fetch",
	"fetch-npm fetch_html", "fetch-npm fetch_json", "fetch-npm fetch_markdown", "fetch-npm fetch_readable", "fetch-npm fetch_txt",
}

// TestPagesInBrowsers holds that no overlay goes by url.reference but for those tools.
func TestPagesInBrowsers(t *testing.T) {
	var all []string
	for _, pattern := range []string{"*.yaml", "../../overlay/catalogue/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 8 {
			t.Fatalf("%s: %q, %v", pattern, names, err)
		}
		all = append(all, names...)
	}
	found := 0
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tool := ""
		for line := range strings.Lines(string(text)) {
			if key, ok := strings.CutPrefix(line, "      "); ok && !strings.HasPrefix(key, " ") && !strings.HasPrefix(key, "#") {
				tool, _, _ = strings.Cut(key, ":")
			}
			if !strings.Contains(line, "url.reference") {
				continue
			}
			found++
			if id := strings.TrimSuffix(filepath.Base(name), ".yaml") + " " + tool; !slices.Contains(pageAlone, id) {
				t.Errorf("%s goes by url.reference, and is none of %q", id, pageAlone)
			}
		}
	}
	if found < 5 {
		t.Errorf("url.reference stands in %d lines", found)
	}
}
