package hook

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/cmdline"
)

// A plainGround follows links as the system does.
type plainGround struct{ Ground }

func (plainGround) Inside(_, _ string, _ func(string) bool) string { return "" }

func (plainGround) Starts(_, _ string) string { return "" }

// Enters knows of nothing in small folders, and of a program in one.
func (plainGround) Enters(_, path string, whole bool) (program string, sure bool) {
	if filepath.Base(path) == "evil" {
		return "its hooks", true
	}
	return "", filepath.Base(path) != "large" && !whole
}

func (plainGround) Locate(_, path string) guard.Place {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return guard.Place{Names: []string{path}}
}

// TestPatterns holds that patterns stand for the files for which they do elsewhere, and for any beyond the bounds.
func TestPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x.go", "a/y.md", "b/x.go", ".c/x.go", "deep/er/z.go", "many/0"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxLooked / 16 {
		if err := os.Mkdir(filepath.Join(dir, "many", strconv.Itoa(i+1)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/proc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	find := func() *finder { return newFinder(&Event{Host: &Host{}, Folder: dir}, plainGround{}) }
	for _, p := range []string{"/a/*", "/*/x.go", "/?/*.go", "/none*", "/none/*", "/a/x.go/*", "/*/none", "/./a/*", "/deep/*/z*", "/many/1?"} {
		want, err := filepath.Glob(dir + p)
		got, ok := find().matches(t.Context(), dir+p)
		slices.Sort(got)
		slices.Sort(want)
		if p == "/./a/*" {
			want = []string{dir + "/./a/x.go", dir + "/./a/y.md"}
		}
		if err != nil || !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %v %q, want %q", p, ok, got, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for p, ctx := range map[string]context.Context{
		"/many/*/../*": t.Context(), "/many/*/../../many/*/x": t.Context(), "/link/*": t.Context(), "/link/self/*": t.Context(), "/a/[x]*": t.Context(), "/a/*": ended,
	} {
		if some, ok := find().matches(ctx, dir+p); ok {
			t.Errorf("%s: %q", p, some)
		}
	}
	all, several := find(), slices.Repeat([]string{"many/1?"}, 1000)
	if got := all.located(t.Context(), append(several, "a/x*")); !slices.Contains(got, "/") || all.left > 0 {
		t.Errorf("a thousand patterns look at %d names more than one call may: %q", -all.left, got)
	}
	if _, ok := all.matches(t.Context(), dir+"/a/*"); ok || !all.holdsLinks("a") {
		t.Errorf("names are looked at beyond the bound")
	}
	for _, p := range []string{"/proc/*/environ", "/sys/*", "/dev/*", "/*/*/root/*/*/root/*/*"} {
		if got := find().located(t.Context(), []string{p}); !slices.Equal(got, []string{"/"}) {
			t.Errorf("%s: %q", p, got)
		}
	}
}

// TestRuns holds when git may run a program by files that a line itself records and writes.
func TestRuns(t *testing.T) {
	for line, want := range map[string]bool{
		"git add small && git status": false, "git add small && git commit -m x": false, "git add evil && git commit -m x": true,
		"git add large && git commit -m x": false, "git add large && git status": true, "git add -A && git diff": true, "git commit -am x && git log": false,
		"echo x > notes.md && git add notes.md && git status": false, "echo x > .gitattributes && git add .": true, "touch HEAD && git status": true,
	} {
		e := &Event{Host: &Host{}, Folder: "/home/ann/work"}
		deed, ok := cmdline.Understand(line)
		if got := newFinder(e, plainGround{}).runs(t.Context(), deed); !ok || got != want {
			t.Errorf("%q: %v %v", line, ok, got)
		}
	}
}
