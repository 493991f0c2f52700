package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/weir-mcp/weir/internal/home"
)

// TestKeysAreNoPaths serves wraps in no directory that a key leads out to, which would be removed in the end.
func TestKeysAreNoPaths(t *testing.T) {
	state := t.TempDir()
	env := &home.Env{Environ: []string{"XDG_STATE_HOME=" + state}}
	for _, key := range []string{"", ".", "..", "../..", strings.Repeat("a", 31), strings.Repeat("a", 32) + "/..", strings.Repeat("A", 32)} {
		if err := ServeWraps(t.Context(), env, key, &Wraps{Log: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("%q is a key", key)
		}
	}
	if _, err := os.Stat(state); err != nil {
		t.Error(err)
	}
}

// TestPruneOwners removes directories of owners that were killed, and nothing else.
func TestPruneOwners(t *testing.T) {
	dir, long := t.TempDir(), time.Now().Add(-48*time.Hour)
	for name, c := range map[string]struct{ old, locked, stays bool }{
		strings.Repeat("a", 32): {old: true}, strings.Repeat("b", 32): {stays: true}, strings.Repeat("c", 32): {true, true, true},
		"lock": {old: true, stays: true}, strings.Repeat("d", 31): {old: true, stays: true},
	} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.locked {
			lock := flock.New(filepath.Join(path, "lock"))
			if err := lock.Lock(); err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
		}
		if c.old {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) != c.stays {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	pruneOwners(dir)
}
