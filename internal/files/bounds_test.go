package files

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInsideBounds holds that a folder with too many names may hold anything.
func TestInsideBounds(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c/d"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for left := range 6 {
		s := search{ground: New(Options{Home: home, Folders: []string{home}}), root: home, left: left}
		if _, why := s.run(); (why == "") != (left >= 4) {
			t.Errorf("of 4 names %d are looked at: %q", left, why)
		}
	}
}
