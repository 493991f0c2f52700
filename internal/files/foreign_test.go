package files_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/files"
)

// confirm confirms a folder as it is now.
func confirm(c *files.Confirmed, path string, now time.Time) (files.Folder, error) {
	f, err := files.Look(path, now)
	if err != nil {
		return f, err
	}
	return f, c.Add(f)
}

// TestForeign asks of files who may have written them.
func TestForeign(t *testing.T) {
	w := newWorld(t)
	const remote = "[remote \"origin\"]\n\turl = https://me:secret@example.org/x.git\n"
	for name, content := range map[string]string{
		"code/new/a.txt": "", "code/new/.git/config": "[core]\n\tbare = false\n",
		"code/clone/a.txt": "", "code/clone/.git/config": remote, "code/clone/sub/b.txt": "",
		"code/include/.git/config": "[include]\n\tpath = ../x\n", "code/include/a.txt": "",
		"code/clone/in/.git/config": "[core]\n", "code/clone/in/a.txt": "", "code/clone/in/deep/.git/config": "", "code/clone/in/deep/a.txt": "",
		"code/pull/.git/config": "[branch \"main\"]\n\tremote = https://example.org/fork.git\n", "code/pull/a.txt": "",
		"code/local/.git/config": "[branch \"main\"]\n\tremote = .\n", "code/local/a.txt": "",
		"code/hg/.hg/hgrc": "", "code/hg/a.txt": "",
		"code/broken/.git": "no link", "code/broken/a.txt": "",
		"code/tree/.git": "gitdir: ../clone/.git/worktrees/t\n", "code/clone/.git/worktrees/t/commondir": "../..\n", "code/tree/a.txt": "",
		"code/new/module/.git": "gitdir: ../.git/modules/m\n", "code/new/.git/modules/m/config": remote, "code/new/module/a.txt": "",
		"code/new/node_modules/x/readme.md": "", "code/new/Vendor/x.go": "", "code/new/.venv/x.py": "", "code/new/tmp/x": "", "code/new/Downloads/x": "",
		"mine/repo/.git/config": remote, "mine/repo/a.txt": "", "stray/a.txt": "",
	} {
		w.write(name, content)
	}
	w.link("code/new/link.txt", w.home+"/stray/a.txt")
	w.link("code/shortcut", w.home+"/code/clone")
	w.link("stray/in", w.home+"/code/new")
	confirmed := files.OpenConfirmed(filepath.Join(w.state, files.ConfirmedName))
	ground := files.New(files.Options{
		Home: w.home, Folders: []string{w.home + "/code", w.home + "/mine/repo"}, Confirmed: confirmed,
		Servers: map[string]files.Server{"fs": {Command: []string{"server"}, Dir: w.home + "/code/new"}, "far": {Far: true}},
	})
	check := func(path string, foreign bool) {
		t.Helper()
		if why := ground.Foreign("fs", path); (why != "") != foreign {
			t.Errorf("%s: %q, want foreign: %v", path, why, foreign)
		}
	}
	for path, foreign := range map[string]bool{
		"code/new/a.txt": false, "code/new": false, "code/new/not/yet.txt": false, "mine/repo/a.txt": false, "stray/in/a.txt": false,
		"code/clone/a.txt": true, "code/clone/sub/b.txt": true, "code/clone": true, "code/shortcut/a.txt": true, "code/clone/new.txt": true,
		"code/clone/in/a.txt": true, "code/clone/in/deep/a.txt": true, "code/pull/a.txt": true, "code/local/a.txt": false, "code/include/a.txt": true, "code/hg/a.txt": true, "code/broken/a.txt": true, "code/tree/a.txt": true, "code/new/module/a.txt": true,
		"code/new/node_modules/x/readme.md": true, "code/new/Vendor/x.go": true, "code/new/.venv/x.py": true, "code/new/tmp/x": true,
		"code/new/Downloads/x": true, "code/new/.git/config": true, "code/new/link.txt": true, "code/new/../clone/a.txt": true,
		"stray/a.txt": true, "mine": true, "mine/other.txt": true, "": true,
	} {
		check(w.home+"/"+path, foreign)
	}
	for path, clone := range map[string]bool{"code/clone/weir.yaml": true, "code/clone/in/weir.yaml": true, "code/new/weir.yaml": false, "stray/weir.yaml": false, "code/shortcut/weir.yaml": true} {
		if why := ground.Cloned(w.home + "/" + path); (why != "") != clone {
			t.Errorf("%s is in a clone: %q", path, why)
		}
	}
	check("a.txt", false)
	check("link.txt", true)
	check("file://a.txt", false)
	check("file://../clone/a.txt", true)
	if ground.Foreign("far", w.home+"/code/new/a.txt") == "" {
		t.Error("a file of another machine is the user's own")
	}
	f, err := confirm(confirmed, w.home+"/code/shortcut", time.Now())
	if err != nil || !slices.Equal(f.Remotes, []string{"https://example.org/x.git"}) {
		t.Fatalf("%+v, %v", f, err)
	}
	check(w.home+"/code/clone/a.txt", false)
	check(w.home+"/code/tree/a.txt", true)
	w.write("code/clone/.git/config", remote+"[remote \"fork\"]\nurl = https://evil.example/x.git\n")
	check(w.home+"/code/clone/a.txt", true)
	if removed, err := confirmed.Remove(w.home + "/code/clone"); !removed || err != nil {
		t.Error(removed, err)
	}
	w.write("code/clone/.git/config", remote)
	check(w.home+"/code/clone/a.txt", true)
	if f, err := confirm(confirmed, w.home+"/stray", time.Now()); err != nil || f.Remotes != nil {
		t.Error(f, err)
	}
	check(w.home+"/stray/a.txt", false)
	w.write("stray/.git/config", remote)
	check(w.home+"/stray/a.txt", true)
	w.write(".local/state/weir/"+files.ConfirmedName, "{")
	check(w.home+"/stray/a.txt", true)
}

// TestLocate follows paths as the system does.
func TestLocate(t *testing.T) {
	w := newWorld(t)
	w.link("proj/docs/notes.txt", "../.git/hooks/pre-commit")
	w.link("proj/loop", "loop")
	w.link("proj/up", "/code/docs/a.txt")
	for _, c := range []struct {
		server, path string
		names        []string
		unsure       bool
	}{
		{"fs", "HOME/proj/docs/notes.txt", []string{"HOME/proj/.git/hooks/pre-commit"}, false},
		{"fs", "docs/notes.txt", []string{"HOME/docs/notes.txt", "HOME/proj/.git/hooks/pre-commit"}, false},
		{"fs", "HOME/proj/docs/up/../x", []string{"HOME/x", "HOME/proj/docs/x"}, false},
		{"fs", "HOME/proj/loop", []string{"HOME/proj/loop"}, true},
		{"fs", "HOME/proj/docs/hard.txt", []string{"HOME/proj/docs/hard.txt"}, true},
		{"fs", "/proc/self/fd/3", nil, true}, {"fs", "/proc/self/status", []string{"/proc/self/status"}, true},
		{"fs", "/proc/cpuinfo", []string{"/proc/cpuinfo"}, false},
		{"fs", "HOME/proj/src/main.go", []string{"HOME/proj/src/main.go"}, false},
		{"box", "/code/src/main.go", []string{"HOME/proj/src/main.go"}, false},
		{"box", "/code/up", []string{"/code/docs/a.txt"}, true},
		{"box", "/elsewhere", nil, false},
		{"remote", "/etc/passwd", nil, false},
	} {
		got := w.ground.Locate(c.server, w.filled(c.path))
		for i := range c.names {
			c.names[i] = w.filled(c.names[i])
		}
		if !slices.Equal(got.Names, c.names) || got.Unsure != c.unsure {
			t.Errorf("%s %s: %+v, want %v, %v", c.server, c.path, got, c.names, c.unsure)
		}
	}
}
