package conversation_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/conversation"
)

var at = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func enter(t *testing.T, b *conversation.Book, key, host string) conversation.Note {
	t.Helper()
	n, err := b.Enter(key, conversation.Note{Host: host, Folder: "/w", Began: at})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func written(conversation.Note) error { return nil }

func TestGenerations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	here, there := conversation.Open(dir), conversation.Open(dir)
	first := conversation.Note{Key: "k", Host: "h", Folder: "/w", Began: at}
	if n := enter(t, here, "k", "h"); n != first || n.Session() != "k" {
		t.Errorf("%+v", n)
	}
	if n := enter(t, there, "k", "another host"); n != first {
		t.Errorf("in another process %+v", n)
	}
	seen := map[string]bool{"k": true}
	for i := range 20 {
		now := at.Add(time.Duration(i) * time.Hour)
		n, err := here.Renew("k", now, written)
		if err != nil || !n.Began.Equal(now) || seen[n.Session()] || conversation.KeyOf(n.Session()) != "k" {
			t.Fatalf("generation %d is %+v, %v", i, n, err)
		}
		seen[n.Session()] = true
		for name, b := range map[string]*conversation.Book{"the same": here, "another": there, "a new": conversation.Open(dir)} {
			if got := enter(t, b, "k", "h"); got != n {
				t.Errorf("%s process has %+v, want %+v", name, got, n)
			}
		}
	}
	if n := enter(t, here, "other", "h"); n.Session() != "other" {
		t.Errorf("another conversation is %+v", n)
	}
}

// What is not written down does not happen.
func TestRenewIsRecordedFirst(t *testing.T) {
	b, broken := conversation.Open(t.TempDir()), errors.New("the disk is full")
	enter(t, b, "k", "h")
	if _, err := b.Renew("k", at, func(conversation.Note) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if n := enter(t, b, "k", "h"); n.Session() != "k" {
		t.Errorf("%+v", n)
	}
	if _, err := b.Renew("unheard of", at, written); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// However many processes enter a conversation while a person begins it anew: in the end all are in the new one.
func TestEnterDoesNotUndoRenew(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		var renewed conversation.Note
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				b := conversation.Open(dir)
				for range 5 {
					if _, err := b.Enter("k", conversation.Note{Began: at}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			for b := conversation.Open(dir); renewed.Key == ""; {
				n, err := b.Renew("k", at, written)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
				renewed = n
			}
		})
		wg.Wait()
		if n := enter(t, conversation.Open(dir), "k", ""); n != renewed {
			t.Fatalf("%+v, want %+v", n, renewed)
		}
	}
}

// Old notes go, but none that says which agent session counts.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	b := conversation.Open(dir)
	for _, key := range []string{"old", "renewed", "young"} {
		enter(t, b, key, "h")
	}
	n, err := b.Renew("renewed", at, written)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if err := os.Chtimes(filepath.Join(dir, f.Name()), at, at); err != nil {
			t.Fatal(err)
		}
	}
	spoiled := filepath.Join(dir, "0000.json")
	if err := errors.Join(os.WriteFile(spoiled, []byte("{"), 0o600), os.Chtimes(spoiled, at, at)); err != nil {
		t.Fatal(err)
	}
	enter(t, b, "new", "h")
	if err := b.Prune(at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"old": false, "renewed": true, "young": false, "new": true} {
		if _, ok, err := b.Find(key); ok != want || err != nil {
			t.Errorf("%s: %v, %v", key, ok, err)
		}
	}
	if got := enter(t, b, "renewed", "h"); got != n {
		t.Errorf("%+v, want %+v", got, n)
	}
	if _, err := os.Stat(spoiled); err != nil {
		t.Errorf("a note that cannot be read is gone: %v", err)
	}
}

// Where there is no place for notes, every conversation is in its first generation; what is there and cannot be read is an error.
func TestWithoutAPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := conversation.Open(file).Enter("k", conversation.Note{}); err == nil {
		t.Errorf("below a file: %+v", n)
	}
	var none *conversation.Book
	if n := enter(t, none, "k", "h"); n.Session() != "k" {
		t.Errorf("%+v", n)
	}
	if _, ok, err := none.Find("k"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if err := none.Prune(at); err != nil {
		t.Error(err)
	}
}

// Host names are of whoever wrote the host.
func TestOfShowsNothingOdd(t *testing.T) {
	n := conversation.Note{Host: "x\x1b[2J\n\u202egood", Folder: "/w\n/x"}
	for _, r := range n.Of() {
		if r < ' ' || r == 0x202e {
			t.Fatalf("%q", n.Of())
		}
	}
}
