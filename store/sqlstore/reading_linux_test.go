package sqlstore_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// readAll reads a file as whoever may, and looks whether all is there and nothing can be written.
func readAll(t *testing.T, path string) {
	t.Helper()
	before := names(t, filepath.Dir(path))
	db, err := sqlstore.Open(t.Context(), path, &sqlstore.Options{ReadOnly: true})
	must(t, err)
	if _, err := db.Get(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if head, err := db.Log().Head(t.Context()); err != nil || head.Size != 4 {
		t.Errorf("%d entries, %v; want 4", head.Size, err)
	}
	_, _, joined := db.Join(t.Context(), "s", label.Label{Private: true}, store.Limits{})
	for _, err := range []error{joined, appendOne(t.Context(), db)} {
		if err == nil {
			t.Error("it was written to")
		}
	}
	must(t, db.Close())
	if after := names(t, filepath.Dir(path)); after != before {
		t.Errorf("files were made: %s; before there were %s", after, before)
	}
}

func TestReadOnly(t *testing.T) {
	for name, closed := range map[string]bool{"closed": true, "after a crash": false} {
		t.Run(name, func(t *testing.T) { readBy(t, closed) })
	}
	t.Run("beside a writer", func(t *testing.T) {
		path := file(t)
		db := open(t, path, nil)
		begin(t, db, "s")
		for range 3 {
			must(t, appendOne(t.Context(), db))
		}
		readAll(t, path)
		must(t, appendOne(t.Context(), db))
	})
	t.Run("of an older schema", func(t *testing.T) {
		path := written(t, true)
		edit(t, path, "delete from schema where version > 1")
		if _, err := sqlstore.Open(t.Context(), path, &sqlstore.Options{ReadOnly: true}); !errors.Is(err, sqlstore.ErrSchema) {
			t.Error(err)
		}
	})
}

func readBy(t *testing.T, closed bool) {
	t.Run("on read-only media", func(t *testing.T) {
		path := written(t, closed)
		dir := filepath.Dir(path)
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("NOTHING WAS TESTED: a file system has to be mounted: %v", err)
		}
		defer func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
		must(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		readAll(t, path)
		if _, err := sqlstore.Open(t.Context(), path, nil); err == nil {
			t.Error("it was opened to be written")
		}
	})
	t.Run("by another user", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("NOTHING WAS TESTED: only root can be another user")
		}
		for dir := os.TempDir(); dir != "/"; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 {
				t.Skipf("NOTHING WAS TESTED: other users may not enter %s, where temporary files are", dir)
			}
		}
		path := written(t, closed)
		must(t, os.Chmod(path, 0o644), os.Chmod(filepath.Dir(path), 0o755))
		if !closed {
			must(t, os.Chmod(path+"-wal", 0o644))
		}
		dir, err := os.MkdirTemp("", "weir-reader-")
		must(t, err)
		defer os.RemoveAll(dir)
		program, err := os.ReadFile("/proc/self/exe")
		must(t, err, os.Chmod(dir, 0o755), os.WriteFile(dir+"/reader", program, 0o755), os.Mkdir(dir+"/tmp", 0o777), os.Chmod(dir+"/tmp", 0o777),
			os.Rename(filepath.Dir(path), dir+"/state"))
		cmd := exec.Command(dir+"/reader", "-test.run=^TestReadAsOther$", "-test.v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "WEIR_READ="+dir+"/state/state.db", "TMPDIR="+dir+"/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if left := names(t, dir+"/tmp"); left != dir+"/tmp\n" {
			t.Errorf("copies are left: %s", left)
		}
	})
}

// TestReadAsOther is run by TestReadOnly as another user.
func TestReadAsOther(t *testing.T) {
	path := os.Getenv("WEIR_READ")
	if path == "" {
		t.Skip("run by TestReadOnly")
	}
	readAll(t, path)
}
