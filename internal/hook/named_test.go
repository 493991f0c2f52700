package hook

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShelf has a line of a search tell a name only where all folders that it may be in are known whole.
func TestShelf(t *testing.T) {
	whole, other, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	for _, path := range []string{filepath.Join(whole, "a.html"), filepath.Join(whole, "b.html"), filepath.Join(other, "c.html-06-01"), file} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unreadable := filepath.Join(t.TempDir(), "loop") // for root, too
	if err := os.Symlink(unreadable, unreadable); err != nil {
		t.Skip(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		name, line string
		bases      []string
		left       int
		want       bool
	}{
		{"a folder", "a.html-6-x", []string{whole}, 2, true},
		{"one that holds more names than may be read", "a.html-6-x", []string{whole}, 1, false},
		{"no name may be read", "a.html-6-x", []string{whole}, 0, false},
		{"a name that goes on", "c.html-06-01-6-x", []string{whole, other}, 9, false},
		{"a name that does not, beside", "a.html-6-x", []string{whole, other}, 9, true},
		{"a second folder with no names left for it", "a.html-6-x", []string{whole, other}, 3, false},
		{"a folder that is not there", "a.html-6-x", []string{missing}, 9, false},
		{"one that is not there, beside", "a.html-6-x", []string{missing, whole}, 9, true},
		{"a file, beside", "a.html-6-x", []string{file, whole}, 9, true},
		{"a folder that cannot be read, before", "a.html-6-x", []string{unreadable, whole}, 9, false},
		{"a folder that cannot be read, behind", "a.html-6-x", []string{whole, unreadable}, 9, false},
	} {
		s := &shelf{bases: c.bases, end: nameEnd(), odd: map[string]oddNames{}, left: c.left}
		if got := s.isHarmless(c.line); got != c.want {
			t.Errorf("%s: harmless %v, want %v", c.name, got, c.want)
		}
	}
}
