package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weir-mcp/weir/internal/files"
)

// TestSecure opens files and the folders around them to others, one by one.
func TestSecure(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are other things there")
	}
	w := newWorld(t)
	w.write("a/b/policy.yaml", "")
	w.write("elsewhere/c/real.yaml", "")
	w.link("a/b/link.yaml", "../../elsewhere/c/real.yaml")
	file, link := filepath.Join(w.home, "a/b/policy.yaml"), filepath.Join(w.home, "a/b/link.yaml")
	for _, c := range []struct {
		path, open string
		mode       os.FileMode
		secure     bool
	}{
		{file, "a/b/policy.yaml", 0o600, true}, {file, "a/b/policy.yaml", 0o644, true}, {file, "a/b/policy.yaml", 0o666, false}, {file, "a/b/policy.yaml", 0o602, false},
		{file, "a/b", 0o755, true}, {file, "a/b", 0o777, false}, {file, "a", 0o707, false}, {file, "a", 0o777 | os.ModeSticky, true},
		{link, "elsewhere/c", 0o777, false}, {link, "elsewhere/c/real.yaml", 0o666, false}, {link, "elsewhere", 0o777, false}, {link, "a/b", 0o777, false},
		{filepath.Join(w.home, "a/b/absent.lock"), "a/b", 0o777, false}, {filepath.Join(w.home, "a/b/absent.lock"), "a/b", 0o700, true},
	} {
		open := filepath.Join(w.home, c.open)
		before, err := os.Stat(open)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(open, c.mode); err != nil { // with any umask
			t.Fatal(err)
		}
		err = files.Secure(c.path)
		var insecure *files.Insecure
		if (err == nil) != c.secure || err != nil && (!errors.As(err, &insecure) || insecure.Path != open || insecure.Fix == "") {
			t.Errorf("%s with %s at %s: %v", c.path, c.mode, c.open, err)
		}
		if err := os.Chmod(open, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(file, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if err := files.Secure(file); err != nil {
		t.Errorf("root reads a file of whoever runs the container: %v", err)
	}
}
