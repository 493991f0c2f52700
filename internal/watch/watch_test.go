package watch_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/watch"
)

const (
	settle   = 50 * time.Millisecond
	patience = time.Minute // with a slow machine
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, paths ...string) *watch.Watcher {
	t.Helper()
	w, err := watch.New(settle)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	must(t, w.Set(paths...))
	return w
}

// told reports whether the watcher tells of a change soon.
func told(w *watch.Watcher, within time.Duration) bool {
	select {
	case <-w.Changed():
		return true
	case <-time.After(within):
		return false
	}
}

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   bool
	}{
		{"written", func(t *testing.T, dir string) { write(t, dir+"/a", "new") }, true},
		{"replaced", func(t *testing.T, dir string) {
			write(t, dir+"/a.tmp", "new")
			must(t, os.Rename(dir+"/a.tmp", dir+"/a"))
		}, true},
		{"removed", func(t *testing.T, dir string) { must(t, os.Remove(dir+"/a")) }, true},
		{"made", func(t *testing.T, dir string) { write(t, dir+"/later", "new") }, true},
		{"another file", func(t *testing.T, dir string) {
			write(t, dir+"/b", "new")
			must(t, os.Rename(dir+"/b", dir+"/c"))
		}, false},
		{"only read", func(t *testing.T, dir string) {
			_, err := os.ReadFile(dir + "/a")
			must(t, err)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			write(t, dir+"/a", "old")
			w := start(t, dir+"/a", dir+"/later")
			test.change(t, dir)
			within := 10 * settle
			if test.want {
				within = patience
			}
			if got := told(w, within); got != test.want {
				t.Errorf("told: %v, want %v", got, test.want)
			}
		})
	}
}

// TestLinks changes a file as a mounted configuration does: the file is a link by way of a directory that is a link.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	dir := t.TempDir()
	for _, version := range []string{"1", "2"} {
		must(t, os.Mkdir(dir+"/"+version, 0o700))
		write(t, dir+"/"+version+"/a", version)
	}
	must(t, os.Symlink("1", dir+"/data"))
	must(t, os.Symlink("data/a", dir+"/a"))
	w := start(t, dir+"/a")
	must(t, os.Symlink("2", dir+"/data.tmp"))
	must(t, os.Rename(dir+"/data.tmp", dir+"/data"))
	if !told(w, patience) {
		t.Error("not told")
	}
}

func TestSet(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	w := start(t, one+"/a")
	must(t, w.Set(other+"/a"))
	write(t, one+"/a", "x")
	if told(w, 10*settle) {
		t.Error("told of a file that is not watched any more")
	}
	write(t, other+"/a", "x")
	if !told(w, patience) {
		t.Error("not told of the file that is watched now")
	}
	if err := w.Set(other + "/no such directory/a"); err == nil {
		t.Error("watches a directory that is not there")
	}
	must(t, w.Close())
	if _, open := <-w.Changed(); open {
		t.Error("tells after it was closed")
	}
}
