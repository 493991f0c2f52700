package hook_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/hook"
)

// after tells of the result of a call.
func (m *machine) after(id, tool string, in input, response any) {
	m.t.Helper()
	if _, err := m.hook(hook.PostToolUse, id, map[string]any{"tool_name": tool, "tool_input": in, "tool_response": response}); err != nil {
		m.t.Fatal(err)
	}
}

// TestSearchesShowStrangers has commands search folders of the user's own work with files of others at random places,
// as the shell runs them: the conversation is untrusted if the output has a text or a name of a stranger, and clean if
// it names files of the user alone.
func TestSearchesShowStrangers(t *testing.T) {
	if _, err := exec.LookPath("find"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell and names of any form")
	}
	lines := []string{"grep -rn WORD .", "grep -rn WORD", "grep -r WORD .", "grep -rl WORD .", "grep -rn WORD sub", "cd sub && grep -rn WORD .", "find .", "find sub -type f",
		"grep -rn WORD . | head -3", "find . | sort", "find . | wc -l", "grep -rn WORD . || true", "ls -R", "ls -aR sub", "du -a sub", "grep -rh WORD .",
		"grep -rn WORD . | tail -2", "grep -rn WORD . && ls", "grep -rn WORD . ; grep -rn WORD sub", "grep -rn --exclude-dir=vendor --exclude-dir=.git WORD .",
		"grep -R WORD .", "find . -maxdepth 1", "ls", "grep -rn WORD . > out.txt; cat out.txt", "grep -rhn WORD . | sort"}
	places := []string{"vendor/STRANGE", "sub/node_modules/p/STRANGE", "clone/STRANGE", ".git/STRANGE", "sub/.venv/STRANGE", "vendor/a\nown.txt:1:WORD/STRANGE",
		"clone-2-b/STRANGE", "clone:b/STRANGE"}
	rnd := rand.New(rand.NewPCG(3, 9))
	for round := range 2 {
		m := newMachine(t, "claude-code")
		m.warm = true
		for _, own := range []string{"own.txt", "sub/own.txt", "sub/deep/own.txt", "clone-3-own/a.txt"} {
			m.file(own, "WORD own\n")
		}
		m.file("clone/own.txt", "")
		for _, p := range places {
			if rnd.IntN(3) == 0 {
				m.file(p, "WORD STRANGE\n")
			}
		}
		for _, c := range []string{"clone", "clone-2-b", "clone:b"} {
			m.file(filepath.Join(c, ".git/config"), "[remote \"origin\"]\n\turl = https://evil.example/x\n")
		}
		for i, line := range lines {
			id := fmt.Sprint(round, line)
			line = strings.ReplaceAll(line, "out.txt", fmt.Sprintf("%s/out%d-%d.txt", "sub", round, i))
			m.start(id, "startup")
			if a := m.before(id, "Bash", input{"command": line}); a.Effect != hook.Pass {
				t.Fatalf("%s: %+v", line, a)
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = m.work
			out, _ := cmd.Output()
			m.after(id, "Bash", input{"command": line}, input{"stdout": string(out), "stderr": ""})
			if l := m.label(id); !l.Untrusted && strings.Contains(string(out), "STRANGE") {
				t.Errorf("%q: %+v\n%s", line, l, out)
			}
			m.sh("rm -f sub/out*")
		}
	}
}

// TestDailySearches holds that searches in a repository with dependencies leave a conversation clean as long as they
// show nothing of these, where the result names each file; and else if there is nothing to show.
func TestDailySearches(t *testing.T) {
	m := newMachine(t, "claude-code")
	m.warm = true
	m.repository("", "")
	m.file("src/a.go", "x\n")
	m.file("web/node_modules/p/README.md", "x\n")
	const theirs = "web/node_modules/p/README.md"
	out := func(text string) input { return input{"stdout": text, "stderr": ""} }
	for _, c := range []struct {
		name, tool string
		input      input
		response   input
		untrusted  bool
	}{
		{"lines", "Bash", input{"command": "grep -rn x ."}, out("./src/a.go:1:x\n"), false},
		{"nothing", "Bash", input{"command": "grep -rn x ."}, out(""), false},
		{"lines of a stranger", "Bash", input{"command": "grep -rn x ."}, out("./src/a.go:1:x\n./" + theirs + ":1:x\n"), true},
		{"the first lines", "Bash", input{"command": "grep -rn x . | head -5"}, out("./src/a.go:1:x\n"), false},
		{"the last lines", "Bash", input{"command": "grep -rn x . | tail -5"}, out("./src/a.go:1:x\n"), true},
		{"the last lines, in a folder", "Bash", input{"command": "grep -rn x src | tail -5"}, out("src/a.go:1:x\n"), false},
		{"without numbers", "Bash", input{"command": "grep -r x ."}, out("./src/a.go:x\n"), false},
		{"without numbers, of a stranger", "Bash", input{"command": "grep -r x ."}, out("./" + theirs + ":x\n"), true},
		{"names", "Bash", input{"command": "find . -name '*.go'"}, out("./src/a.go\n"), false},
		{"a stranger's name", "Bash", input{"command": "find . -name '*.md'"}, out("./" + theirs + "\n"), true},
		{"names in a folder", "Bash", input{"command": "cd src && find . -name '*.go'"}, out("./a.go\n"), false},
		{"a number", "Bash", input{"command": "find . -name '*.md' | wc -l"}, out("1\n"), false},
		{"hidden names alone", "Bash", input{"command": "rg x src | tail -3"}, out("x\n"), false},
		{"a listing", "Bash", input{"command": "ls -la"}, out("src web\n"), false},
		{"a deep listing", "Bash", input{"command": "ls -R"}, out("README.md\n"), true},
		{"a deep listing of the user's own", "Bash", input{"command": "ls -R src"}, out("a.go\n"), false},
		{"a tree without dependencies", "Bash", input{"command": "tree -I node_modules"}, out("src\n"), false},
		{"a tree", "Bash", input{"command": "tree -L 3"}, out("README.md\n"), true},
		{"errors", "Bash", input{"command": "grep -rn x ."}, input{"stdout": "", "stderr": "./" + theirs}, true},
		{"a name that is not there", "Bash", input{"command": "grep -rn x ."}, out("./b.go:1:x\n"), true},
		{"in the background", "Bash", input{"command": "grep -rn x .", "run_in_background": true}, out(""), true},
		{"Grep", "Grep", input{"pattern": "x", "output_mode": "content"}, input{"mode": "content", "content": "src/a.go:1:x"}, false},
		{"Grep of a stranger", "Grep", input{"pattern": "x", "output_mode": "content"}, input{"mode": "content", "content": theirs + ":1:x", "filenames": []any{}}, true},
		{"Grep without numbers", "Grep", input{"pattern": "x", "output_mode": "content", "-n": false}, input{"content": theirs + ":x"}, true},
		{"Grep for names", "Grep", input{"pattern": "x"}, input{"filenames": []any{"src/a.go"}}, false},
		{"Grep for a stranger's name", "Grep", input{"pattern": "x"}, input{"filenames": []any{theirs}}, true},
		{"Grep for numbers", "Grep", input{"pattern": "x", "output_mode": "count"}, input{"content": "src/a.go:1"}, false},
		{"Grep for a stranger's numbers", "Grep", input{"pattern": "x", "output_mode": "count"}, input{"content": theirs + ":1"}, true},
		{"Grep in another form", "Grep", input{"pattern": "x", "output_mode": "content"}, input{"text": "x"}, true},
		{"Glob", "Glob", input{"pattern": "**/*.go"}, input{"filenames": []any{m.work + "/src/a.go"}}, false},
		{"Glob of a stranger", "Glob", input{"pattern": "**/*.md"}, input{"filenames": []any{m.work + "/" + theirs}}, true},
		{"Glob of version control", "Glob", input{"pattern": "**/HEAD"}, input{"filenames": []any{".git/HEAD"}}, true},
		{"a file", "Grep", input{"pattern": "x", "output_mode": "content", "path": "src/a.go"}, input{"content": "1:x"}, false},
	} {
		m.start(c.name, "startup")
		m.before(c.name, c.tool, c.input)
		m.after(c.name, c.tool, c.input, c.response)
		if l := m.label(c.name); l.Untrusted != c.untrusted {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
}

// TestSearchesOfEveryHost has hosts whose results are not looked at search, list and show folders: all that lies below
// counts, but for the copies of version control.
func TestSearchesOfEveryHost(t *testing.T) {
	for _, c := range []struct {
		host, tool string
		input      input
		flat       bool
	}{
		{"gemini", "grep_search", input{"pattern": "x", "dir_path": "."}, false}, {"gemini", "glob", input{"pattern": "*", "dir_path": "."}, false},
		{"gemini", "list_directory", input{"dir_path": "."}, true}, {"qwen", "grep_search", input{"pattern": "x", "path": "."}, false},
		{"copilot", "grep", input{"pattern": "x"}, false}, {"copilot", "glob", input{"pattern": "*"}, false}, {"copilot", "view", input{"path": "."}, false},
		{"opencode", "grep", input{"pattern": "x"}, false}, {"opencode", "list", input{}, false}, {"opencode", "glob", input{"pattern": "*"}, false},
		{"claude-code", "LS", input{}, false},
		{"gemini", "run_shell_command", input{"command": "ls -R lib", "dir_path": "src"}, false},
		{"qwen", "run_shell_command", input{"command": "tree lib", "directory": "src"}, false}, {"opencode", "bash", input{"command": "grep -rh x lib", "workdir": "src"}, false},
	} {
		for _, place := range []string{"src/lib/vendor/a.go", "src/a.go"} {
			m := newMachine(t, c.host)
			m.repository("", "")
			m.file(place, "x\n")
			d := dialects[c.host]
			m.begins(d, "s")
			m.asks(d, "s", call{c.tool, c.input}, "")
			for s, err := range m.store.List(t.Context(), "local") {
				if want := place != "src/a.go" && !c.flat; err != nil || s.Label.Untrusted != want {
					t.Errorf("%s %s with %s: %v, %v", c.host, c.tool, place, s.Label, err)
				}
			}
		}
	}
}
