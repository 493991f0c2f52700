package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPlainly holds the way through a path without links against the one through any path.
func TestPlainly(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/a", "b/c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a/f", "a/b/f", "b/f"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"l": "a/b", "a/l": "../b", "b/l": "nowhere", "a/b/l": root, "c": "c", "p": "/proc/self"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "a/f"), filepath.Join(root, "h")); err != nil {
		t.Fatal(err)
	}
	steps := rapid.SampledFrom([]string{"a", "b", "c", "f", "l", "h", "p", "..", ".", "", "cwd", "none", strings.Repeat("n", 300)})
	begin := rapid.SampledFrom([]string{root, root, root, "", "/", "/proc", "/proc/self", "/procs", "/dev/fd", "/dev", "/sys", "a", root + "/a/b"})
	rapid.Check(t, func(t *rapid.T) {
		path := begin.Draw(t, "begin")
		for _, step := range rapid.SliceOfN(steps, 0, 5).Draw(t, "steps") {
			path += "/" + step
		}
		got, ok := new(disk).plainly(path)
		if !ok {
			return
		}
		if want := new(disk).walk(path); got != want {
			t.Fatalf("%q: %+v, want %+v", path, got, want)
		}
	})
	if e, ok := new(disk).plainly(filepath.Join(root, "a/b/f")); !ok || e.node.kind != regular {
		t.Errorf("%+v, %v", e, ok)
	}
}

// TestSameName are names that some file system takes for one, and others.
func TestSameName(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/a/Weir.yaml", "/a/weir.yaml", true}, {"/a/weir.yaml:stream", "/a/weir.yaml", true}, {"/a/weir.yaml. .", "/a/weir.yaml", true},
		{"/a:b/weir.yaml", "/a:b/weir.yaml", true}, {"/a:b/weir.yam", "/a:b/weir.yaml", false}, {"/a/weir.yam", "/a/weir.yaml", false},
		{"", "", true}, {"", "a", false}, {"/a/.", "/a/", true}, {"\u212aey", "key", true},
	} {
		if got := sameName(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
	}
}
