package files_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
)

// git runs git without any configuration of a user.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	t.Logf("git %q: %v %s", args, err, out)
}

// clone makes a clone of a repository with one commit.
func clone(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	origin, dir := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git(t, origin, "init", "-q", "-b", "main")
	put(t, filepath.Join(origin, "a.txt"), "one\n")
	git(t, origin, "add", ".")
	git(t, origin, "commit", "-q", "-m", "one")
	git(t, t.TempDir(), "clone", "-q", "file://"+origin, dir)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// looks are commands that only look, by which git is tried.
var looks = []string{"status", "log -p --pretty=x", "log", "diff"}

// TestRunsWhatGitRuns puts a program into a clone in every known way, and checks whether git runs it in commands that
// only read. Runs must report each program that git runs, or that another version could run.
func TestRunsWhatGitRuns(t *testing.T) {
	ran := 0
	for name, plant := range map[string]func(dir, program string){
		"a monitor":             func(dir, p string) { config(t, dir, "[core]\n\tfsmonitor = "+p+"\n") },
		"a monitor in capitals": func(dir, p string) { config(t, dir, "[CORE]\n\tFSMonitor = "+p+"\n") },
		"one in one line":       func(dir, p string) { config(t, dir, "[core] fsmonitor = "+p+"\n") },
		"a hook":                func(dir, p string) { put(t, dir+"/.git/hooks/post-index-change", "#!/bin/sh\n"+p+"\n") },
		"a folder of hooks": func(dir, p string) {
			config(t, dir, "[core]\n\thooksPath = x\n")
			put(t, dir+"/x/post-index-change", "#!/bin/sh\n"+p+"\n")
		},
		"a text of binaries": func(dir, p string) {
			config(t, dir, "[diff \"x\"]\n\ttextconv = "+p+"\n")
			put(t, dir+"/.gitattributes", "* diff=x\n")
			put(t, dir+"/a.txt", "2\n")
		},
		"another diff": func(dir, p string) { config(t, dir, "[diff]\n\texternal = "+p+"\n"); put(t, dir+"/a.txt", "2\n") },
		"a filter": func(dir, p string) {
			config(t, dir, "[filter \"x\"]\n\tclean = "+p+"\n")
			put(t, dir+"/.gitattributes", "* filter=x\n")
			put(t, dir+"/a.txt", "2\n")
		},
		"an included file": func(dir, p string) {
			config(t, dir, "[include]\n\tpath = ../x\n")
			put(t, dir+"/x", "[core]\n\tfsmonitor = "+p+"\n")
		},
		"of a work tree": func(dir, p string) {
			config(t, dir, "[extensions]\n\tworktreeConfig = true\n")
			put(t, dir+"/.git/config.worktree", "[core]\n\tfsmonitor = "+p+"\n")
		},
		"a signature": func(dir, p string) { config(t, dir, "[gpg]\n\tprogram = "+p+"\n[log]\n\tshowSignature = true\n") },
		"a format":    func(dir, p string) { config(t, dir, "[gpg]\n\tprogram = "+p+"\n[pretty]\n\tx = %G?\n") },
		"a helper": func(dir, p string) {
			config(t, dir, "[remote \"y\"]\n\turl = ext::"+p+"\n\tpromisor = true\n[protocol \"ext\"]\n\tallow = always\n")
		},
		"a common folder": func(dir, p string) {
			put(t, dir+"/.git/commondir", "../x\n")
			put(t, dir+"/x/config", "[core]\n\tfsmonitor = "+p+"\n")
			put(t, dir+"/x/HEAD", "ref: refs/heads/main\n")
			os.MkdirAll(dir+"/x/objects", 0o755)
			os.MkdirAll(dir+"/x/refs", 0o755)
		},
		"a .git elsewhere": func(dir, p string) {
			config(t, dir, "[core]\n\tfsmonitor = "+p+"\n")
			os.Rename(dir+"/.git", dir+"/x")
			put(t, dir+"/.git", "gitdir: x\n")
		},
		"a bare one": func(dir, p string) {
			os.Rename(dir+"/.git", dir+"/x")
			put(t, dir+"/x/config", "[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = "+p+"\n")
			os.Rename(dir, dir+".tree")
			os.Rename(dir+".tree/x", dir)
		},
		"one inside": func(dir, p string) {
			git(t, dir, "init", "-q", "x")
			put(t, dir+"/x/a", "1")
			git(t, dir+"/x", "add", ".")
			git(t, dir+"/x", "commit", "-q", "-m", "x")
			git(t, dir, "add", "x")
			put(t, dir+"/x/.git/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "+p+"\n")
		},
	} {
		dir := clone(t)
		mark := filepath.Join(t.TempDir(), "ran")
		program := filepath.Join(t.TempDir(), "program")
		put(t, program, "#!/bin/sh\ntouch "+mark+"\ncat 2>/dev/null\n")
		plant(dir, program)
		ground := files.New(files.Options{Home: "/nowhere", Dir: dir, Servers: map[string]files.Server{"s": {Command: []string{"x"}}}})
		told := ground.Runs(guard.Touch{Server: "s", Name: "git_status", Texts: []guard.Text{{Path: "repo_path", Text: dir}}})
		if told == "" {
			t.Errorf("%s is not told of", name)
		}
		for _, look := range looks {
			os.Chtimes(dir+"/a.txt", dawn, dawn)
			git(t, dir, strings.Fields(look)...)
		}
		if _, err := os.Stat(mark); err == nil {
			ran++
		}
	}
	if ran < 8 {
		t.Errorf("git ran only %d of the programs: the test tries nothing", ran)
	}
}

// TestGitFiles holds that a text of a .git or a commondir starts programs unless it is as git writes it: git may read
// any other as another path.
func TestGitFiles(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	evil := "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch " + mark + "; false\"\n"
	ground := files.New(files.Options{Home: "/nowhere", Servers: map[string]files.Server{"s": {Command: []string{"x"}}}})
	for _, file := range []string{".git", ".git/commondir"} {
		dir := clone(t)
		at, prefix := dir, "gitdir: "
		os.Rename(dir+"/.git", dir+"/data")
		if file != ".git" {
			at, prefix = dir+"/.git", ""
			os.CopyFS(at, os.DirFS(dir+"/data"))
			os.Rename(dir+"/data", at+"/data")
		}
		for _, name := range []string{"data ", "data\r", "data\t", " data", "\tdata", "sub/data", "data\nx"} {
			os.MkdirAll(filepath.Join(at, "sub/deep"), 0o755)
			os.CopyFS(at+"/"+name, os.DirFS(at+"/data"))
			put(t, at+"/"+name+"/config", evil)
		}
		os.Symlink("sub/deep", at+"/link")
		for _, text := range []string{
			"data\n", "./data\n", "data", "data \n", "data\r\n", "data\n\n", "data\t\n", " data\n", "\tdata\n", "link/../data\n",
			"data\nx\n", "data\x00\n", "data" + strings.Repeat("\n", 1<<20), "sub/data" + strings.Repeat("\n", 1<<20), "\n", "", "missing\n",
		} {
			put(t, dir+"/"+file, prefix+text)
			why := ground.Starts("s", dir)
			if plain := text == "data\n" || text == "./data\n"; plain != (why == "") {
				t.Errorf("%s %.20q: %q", file, text, why)
			}
			if why != "" && text != "data \n" && text != "link/../data\n" {
				continue // git need not be asked
			}
			os.Remove(mark)
			git(t, dir, "status", "-uno")
			if _, err := os.Stat(mark); (err == nil) != (why != "") {
				t.Errorf("%s %.20q: told of %q, and git runs a program: %v", file, text, why, err == nil)
			}
		}
	}
}

func config(t *testing.T, dir, more string) {
	t.Helper()
	text, err := os.ReadFile(dir + "/.git/config")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/.git/config", string(text)+more)
}

// TestRunsNothing holds that a plain clone, with the usual changes by users and their programs, runs nothing; nor do
// other tools, other commands and the user's own work.
func TestRunsNothing(t *testing.T) {
	dir := clone(t)
	git(t, dir, "checkout", "-q", "-b", "topic/one", "--track", "origin/main")
	git(t, dir, "config", "user.email", "ann@example.com")
	git(t, dir, "remote", "add", "up", "git@example.com:up/stream.git")
	put(t, dir+"/sub/b.txt", "two")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "two")
	at := func(name string, o files.Options, texts ...guard.Text) string {
		o.Dir, o.Servers = dir, map[string]files.Server{"s": {Command: []string{"x"}}, "far": {Far: true}}
		return files.New(o).Runs(guard.Touch{Server: "s", Name: name, Texts: texts})
	}
	path, line := guard.Text{Path: "repo_path", Text: dir + "/sub"}, func(s string) guard.Text { return guard.Text{Path: "command", Text: s} }
	if why := at("git_status", files.Options{}, path); why != "" {
		t.Errorf("a plain clone runs %s", why)
	}
	config(t, dir, "[core]\n\tfsmonitor = ./x\n")
	for _, c := range []struct {
		what, got string
		runs      bool
	}{
		{"a tool of git", at("git_status", files.Options{}, path), true},
		{"a tool of git at work where its server works", at("git_status", files.Options{}), true},
		{"a command", at("run_command", files.Options{}, line("git status")), true},
		{"a command by its path", at("run_command", files.Options{}, line("/usr/bin/git log")), true},
		{"another command", at("run_command", files.Options{}, line("cat .gitignore")), false},
		{"another tool", at("read_file", files.Options{}, path), false},
		{"the user's own work", at("git_status", files.Options{Folders: []string{dir}}, path), false},
	} {
		if (c.got != "") != c.runs {
			t.Errorf("%s runs %q", c.what, c.got)
		}
	}
}

// dawn is a time before all others: files that have changed since are looked at anew.
var dawn = time.Unix(1, 0)
