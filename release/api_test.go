package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublicAPI compares the public API with that of the last release.
func TestPublicAPI(t *testing.T) {
	if err := compatible(t.Context(), "..", ""); err != nil {
		t.Error(err)
	}
}

// TestCompatible compares versions of a small module with its releases v0.1.0 and v1.0.0.
func TestCompatible(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		command(t, dir, []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"},
			"git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	}
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const released = "package p\n\ntype N = int\n\ntype T struct{ A N }\n\nfunc (T) Old() {}\n\nfunc F(int) {}\n"
	const without = "package p\n\ntype N = int\n\ntype T struct{ A N }\n\nfunc F(int) {}\n"
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("internal/q/q.go", "package q\n\nfunc Gone() {}\n")
	write("p/p.go", released)
	write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n\n- `T.Old`\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	if err := compatible(t.Context(), dir, ""); err != nil {
		t.Errorf("before the first release: %v", err)
	}
	git("tag", "v0.1.0")
	write("internal/q/q.go", "package q\n")
	for _, c := range []struct{ name, code, log, version, want string }{
		{"nothing", released, "", "v0.1.1", ""},
		{"an addition", released + "func G() {}\n", "", "v0.1.1", ""},
		{"the tag of the version itself", without, "", "v0.1.0", ""},
		{"a method in a patch", without, "`T.Old`: use F", "v0.1.1", "v0.1.1 may not change the public API of v0.1.0:\n\tp.T.Old: removed"},
		{"a method without a word", without, "", "v0.2.0", "CHANGELOG.md has to name the replacement of:\n\tp.T.Old: removed"},
		{"a method", without, "`T.Old`: use F", "v0.2.0", ""},
		{"a method, of any version", without, "`T.Old`: use F", "", ""},
		{"a type of an argument", strings.Replace(released, "F(int)", "F(string)", 1), "", "", "p.F: changed from func(int) to func(string)"},
		{"a field", strings.Replace(released, "A N", "A, B N", 1) + "func init() {}\n", "", "", ""},
		{"code that is none", released + "func", "", "", "loading example.com/m/p"},
	} {
		write("p/p.go", c.code)
		write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n"+c.log+"\n\n## [0.1.0]\n\n- `T.Old`\n")
		err := compatible(t.Context(), dir, c.version)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	write("p/p.go", released)
	git("add", ".")
	git("commit", "-q", "-m", "second")
	git("tag", "v1.0.0")
	git("tag", "v1.1.0-rc.1")
	write("p/p.go", without)
	if err := compatible(t.Context(), dir, "v1.1.0"); err == nil || !strings.Contains(err.Error(), "v1.1.0 may not change the public API of v1.0.0") {
		t.Errorf("from 1.0 on a minor version: %v", err)
	}
}
