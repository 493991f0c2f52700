package attacks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestStrangersRepository has git look at a repository from an archive, whose settings have git start a program, in a session that has read
// nothing yet. The tools are plain reads by their entries.
func TestStrangersRepository(t *testing.T) {
	const plain = "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	for name, c := range map[string]struct {
		file, text string
		runs       bool
	}{
		"a monitor":       {".git/config", plain + "[core]\n\tfsmonitor = ./x.sh\n", true},
		"a hook":          {".git/hooks/post-index-change", "touch x", true},
		"another folder":  {".git/config", plain + "[include]\n\tpath = ../more\n", true},
		"a plain clone":   {".git/config", plain, false},
		"a bare one":      {"config", "[core]\n\tworktree = .\n\tfsmonitor = ./x.sh\n", true},
		"a sample a hook": {".git/hooks/pre-commit.sample", "touch x", false},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{c.file: c.text, "docs/a.txt": "", "objects/x": "", "refs/x": "", "HEAD": "ref: refs/heads/main\n"} {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		h := start(t, setup{servers: []server{
			{name: "git", trust: "known", catalogue: "git", script: script{Tools: tools(`{"name":"git_status"}`, `{"name":"git_log"}`)}},
			{name: "shell", trust: "known", catalogue: "commands", cwd: dir, script: script{Tools: tools(`{"name":"run_command"}`)}},
		}})
		for i, call := range []struct {
			server, tool string
			arguments    args
		}{
			{"git", "git_status", args{"repo_path": dir}},
			{"git", "git_log", args{"repo_path": filepath.Join(dir, "docs"), "max_count": 3}},
			{"shell", "run_command", args{"command": "git status"}},
			{"shell", "run_command", args{"command": "git log --oneline -5"}},
		} {
			before := h.calls(call.server)
			h.callIn(fmt.Sprint(i), "", call.tool, call.arguments)
			switch through := h.calls(call.server) > before; {
			case through && c.runs:
				t.Errorf("through: %s runs %s: %v", call.tool, name, call.arguments)
			case !through && !c.runs:
				t.Errorf("stopped: %s of %s: %s", call.tool, name, h.last())
			}
		}
	}
}
