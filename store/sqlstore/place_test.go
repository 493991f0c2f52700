package sqlstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// told collects the health that an open database tells.
type told struct {
	mu  sync.Mutex
	all []sqlstore.Health
}

func (h *told) tell(one sqlstore.Health) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, one)
}

func (h *told) states() (states []sqlstore.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.all {
		states = append(states, one.State)
	}
	return states
}

func must(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

// copyAll copies the files of a directory to another.
func copyAll(tb testing.TB, from, to string) {
	tb.Helper()
	must(tb, os.CopyFS(to, os.DirFS(from)))
	for _, name := range []string{"state.db", "state.db-wal", "state.db-shm"} {
		if err := os.Chmod(filepath.Join(to, name), 0o600); !errors.Is(err, fs.ErrNotExist) {
			must(tb, err)
		}
	}
}

// Whatever becomes of the files of an open database, nothing is read from it or written to it any more, nothing is made in their
// place, and it goes on when the same files are back.
func TestMovedFile(t *testing.T) {
	for name, move := range map[string]struct {
		away func(t *testing.T, dir string)
		back func(t *testing.T, dir string) // nil: it cannot come back
	}{
		"directory moved": {
			func(t *testing.T, dir string) { must(t, os.Rename(dir, dir+".away")) },
			func(t *testing.T, dir string) { must(t, os.Rename(dir+".away", dir)) },
		},
		"directory removed":  {func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, nil},
		"file removed":       {func(t *testing.T, dir string) { must(t, os.Remove(dir+"/state.db")) }, nil},
		"log removed":        {func(t *testing.T, dir string) { must(t, os.Remove(dir+"/state.db-wal")) }, nil},
		"index removed":      {func(t *testing.T, dir string) { must(t, os.Remove(dir+"/state.db-shm")) }, nil},
		"index cut":          {func(t *testing.T, dir string) { must(t, os.Truncate(dir+"/state.db-shm", 0)) }, nil},
		"directory replaced": {func(t *testing.T, dir string) { must(t, os.Rename(dir, dir+".away")); copyAll(t, dir+".away", dir) }, nil},
		"file replaced": {
			func(t *testing.T, dir string) {
				must(t, os.Rename(dir+"/state.db", dir+"/away"), os.WriteFile(dir+"/state.db", nil, 0o600))
			},
			func(t *testing.T, dir string) { must(t, os.Rename(dir+"/away", dir+"/state.db")) },
		},
		"replaced by a directory": {func(t *testing.T, dir string) {
			must(t, os.Remove(dir+"/state.db"), os.Mkdir(dir+"/state.db", 0o700))
		}, nil},
		"log replaced": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir+"/state.db-wal", dir+"/away"), os.WriteFile(dir+"/state.db-wal", nil, 0o600))
		}, nil},
		"opened to others": {
			func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/state.db", 0o644)) },
			func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/state.db", 0o600)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			dir := filepath.Dir(path)
			var h told
			db, err := sqlstore.Open(t.Context(), path, &sqlstore.Options{Told: h.tell})
			must(t, err)
			defer func() {
				if err := db.Close(); err != nil && !errors.Is(err, sqlstore.ErrMoved) {
					t.Error(err)
				}
			}()
			begin(t, db, "s")
			append1 := func() error {
				_, err := db.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Kind: "k"}})
				return err
			}
			must(t, append1())
			move.away(t, dir)
			before := names(t, filepath.Dir(dir))
			for range 3 {
				_, readErr := db.Get(t.Context(), "s")
				_, _, openErr := db.Open(t.Context(), store.Ref{Key: "s", Principal: "p"}, store.Limits{})
				_, headErr := db.Log().Head(t.Context())
				for _, err := range []error{readErr, openErr, headErr, append1(), db.Flush(t.Context())} {
					if !errors.Is(err, sqlstore.ErrMoved) {
						t.Fatalf("%v; want ErrMoved", err)
					}
				}
			}
			if after := names(t, filepath.Dir(dir)); after != before {
				t.Errorf("files were made: %s; before there were %s", after, before)
			}
			want := []sqlstore.State{sqlstore.Moved}
			if move.back != nil {
				move.back(t, dir)
				want = append(want, sqlstore.OK)
				must(t, append1())
				if head, err := db.Log().Head(t.Context()); err != nil || head.Size != 3 { // and one of the session
					t.Errorf("%d entries, %v; want 3", head.Size, err)
				}
			}
			if got := h.states(); len(got) != len(want) || db.Health().State != want[len(want)-1] {
				t.Errorf("it told of %v, and is %v; want %v", got, db.Health().State, want)
			}
		})
	}
}

// names returns the names of all files below a directory.
func names(tb testing.TB, dir string) (all string) {
	tb.Helper()
	must(tb, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all += path + "\n"
		return err
	}))
	return all
}

func TestExistingFile(t *testing.T) {
	path := file(t)
	for _, opts := range []sqlstore.Options{{Existing: true}, {ReadOnly: true}} {
		if _, err := sqlstore.Open(t.Context(), path, &opts); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", opts, err)
		}
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: a directory was made: %v", opts, err)
		}
	}
}

// A link that leads nowhere is not followed to a new file.
func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "state.db")))
	if _, err := sqlstore.Open(t.Context(), filepath.Join(dir, "state.db"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was made where the link leads")
	}
}

// An agent reads no more of such an error than that the store does not work.
func TestErrorsTellHostsNothing(t *testing.T) {
	path := file(t)
	db, err := sqlstore.Open(t.Context(), path, nil)
	must(t, err)
	must(t, os.RemoveAll(filepath.Dir(path)))
	_, err = db.Get(t.Context(), "secret session")
	if got := hosterror.Text(err); got != "the store's file is not as it was opened: see weir status" {
		t.Error(got)
	}
	if err := db.Close(); err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}
