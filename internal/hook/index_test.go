package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/hook"
)

// sh runs a line in the folder of the user's own work, without any configuration of git.
func (m *machine) sh(line string) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = m.work
	cmd.Env = append(os.Environ(), "HOME="+m.state, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	m.t.Logf("%s: %v %s", line, err, out)
}

// TestLinesThatChangeTheirGround has git run lines in a work tree with a repository inside that is not in the index
// yet, and whose settings name a program. A conversation that holds untrusted content is asked about each line in which git
// runs it; where nothing is inside, it is asked about none.
func TestLinesThatChangeTheirGround(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	m := newMachine(t, "claude-code")
	m.warm = true
	m.file("notes.md", "1")
	m.sh("git init -q -b main . && rm -rf .git/hooks && git add . && git commit -q -m 1 && cp -r .git " + m.state + "/saved")
	mark := filepath.Join(m.state, "ran")
	m.sh("git init -q docs && cd docs && echo 1 > a.md && git add . && git commit -q -m 1 && rm -rf .git/hooks")
	m.file("docs/.git/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch "+mark+"; false\"\n")
	docs, away := filepath.Join(m.work, "docs"), filepath.Join(m.state, "docs")
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, line := range []string{
		"git add . && git status", "git add . && git diff", "git add docs && git diff", "git add -A; git status", "git add . && git add .", "git add . | git diff",
		"git add . && git commit -am x", "git add . && git commit", "git add . && git commit -m x && git commit -m y", "cd docs && git add -A .. && git status",
		"git add . && git commit -q -m x", "git add . && git commit -m x && git log --oneline -1", "git add notes.md && git commit -m x && git status",
		"echo x > b.md && git add b.md && git commit -m x && git status", "mkdir -p src/new && git add src && git status",
	} {
		ask := func(state string, want hook.Effect) {
			t.Helper()
			m.start(line+state, "startup")
			m.before(line+state, "WebFetch", fetch)
			if a := m.before(line+state, "Bash", input{"command": line}); a.Effect != want {
				t.Errorf("%s %s: %+v", line, state, a)
			}
		}
		move(docs, away)
		if !strings.Contains(line, "docs") {
			ask("in a plain work tree", hook.Pass)
		}
		move(away, docs)
		os.Remove(mark)
		m.file("notes.md", line)
		want := hook.Pass
		if !strings.Contains(line, "notes.md") && !strings.Contains(line, "b.md") && !strings.Contains(line, "src") {
			want = hook.Ask
		}
		ask("with a repository inside", want)
		m.sh(line)
		if _, err := os.Stat(mark); err == nil {
			if ran++; want == hook.Pass {
				t.Errorf("%s runs a program", line)
			}
		}
		m.sh("rm -rf .git && cp -r " + m.state + "/saved .git")
	}
	if ran < 6 {
		t.Errorf("git ran the program in %d lines only: the test tries little", ran)
	}
}
