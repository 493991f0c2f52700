package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
)

func newLog(tb testing.TB, n int) *audit.Log {
	tb.Helper()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := audit.Open(tb.Context(), audit.NewMemory(), audit.NewAnchor(key))
	if err != nil {
		tb.Fatal(err)
	}
	fill(tb, l, n)
	return l
}

func fill(tb testing.TB, l *audit.Log, n int) {
	tb.Helper()
	entries := make([]audit.Entry, n)
	for i := range entries {
		entries[i] = audit.Entry{
			Time: time.Unix(int64(i), 0), Chain: fmt.Sprint("s", i%50), Kind: "decision", Subject: "mail/send_email", Outcome: "allow",
			Body: fmt.Appendf(nil, `{"v":1,"id":"%032d","kind":"decision","server":"mail","name":"send_email","effect":"allow"}`, i),
		}
	}
	if _, err := l.Storage().Append(tb.Context(), entries); err != nil {
		tb.Fatal(err)
	}
}

// exported is a static log as another program finds it.
type exported map[string][]byte

func (e exported) Height() int                     { return 8 }
func (e exported) SaveTiles([]tlog.Tile, [][]byte) {}
func (e exported) ReadTiles(tiles []tlog.Tile) (out [][]byte, err error) {
	for _, t := range tiles {
		path := fmt.Sprintf("tile/%d/%03d", t.L, t.N)
		if t.W < 256 {
			path += fmt.Sprintf(".p/%d", t.W)
		}
		data, ok := e[path]
		if !ok {
			return nil, fmt.Errorf("no %s", path)
		}
		out = append(out, data)
	}
	return out, nil
}

// Another implementation reads the checkpoint and the tiles, and finds every leaf in the tree.
func TestExportIsAcceptedByOthers(t *testing.T) {
	for _, size := range []int{1, 255, 256, 257, 1000, 10_000} {
		l := newLog(t, size)
		files := exported{}
		if err := l.Export(t.Context(), func(path string, data []byte) error {
			if files[path] != nil {
				t.Errorf("%s is written twice", path)
			}
			files[path] = data
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		verifier, err := note.NewVerifier(l.Key().Verifier())
		if err != nil {
			t.Fatal(err)
		}
		n, err := note.Open(files["checkpoint"], note.VerifierList(verifier))
		if err != nil {
			t.Fatal(err)
		}
		var origin, root string
		var said int64
		if _, err := fmt.Sscanf(n.Text, "%s\n%d\n%s\n", &origin, &said, &root); err != nil || origin != "example.com/weir" || said != int64(size) {
			t.Fatalf("the checkpoint says %q: %v", n.Text, err)
		}
		hash, err := tlog.ParseHash(root)
		if err != nil {
			t.Fatal(err)
		}
		r := tlog.TileHashReader(tlog.Tree{N: said, Hash: hash}, files)
		for seq := int64(0); seq < said; seq += max(1, said/97) {
			bundle := fmt.Sprintf("tile/entries/%03d", seq/256)
			if w := said - seq/256*256; w < 256 {
				bundle += fmt.Sprintf(".p/%d", w)
			}
			leaves, err := audit.ParseBundle(files[bundle])
			if err != nil {
				t.Fatalf("%s: %v", bundle, err)
			}
			leaf := leaves[seq%256]
			proof, err := tlog.ProveRecord(said, seq, r)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckRecord(proof, said, hash, seq, tlog.RecordHash(leaf.Append(nil))); err != nil {
				t.Fatalf("entry %d of %d: %v", seq, size, err)
			}
		}
	}
}

func TestConsistency(t *testing.T) {
	l := newLog(t, 0)
	heads := []audit.Head{{}}
	for range 20 {
		fill(t, l, 37)
		head, err := l.Storage().Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, head)
	}
	for i, old := range heads[1:] {
		for _, now := range heads[i+1:] {
			proof, err := l.Consistency(t.Context(), old.Size, now.Size)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(proof, now.Size, now.Root(), old.Size, old.Root()); err != nil {
				t.Errorf("%d in %d: %v", old.Size, now.Size, err)
			}
		}
	}
	for _, bad := range [][2]int64{{0, 1}, {5, 4}, {1, 20*37 + 1}} {
		if _, err := l.Consistency(t.Context(), bad[0], bad[1]); !errors.Is(err, audit.ErrRange) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestExtendsRefusesAnotherHistory(t *testing.T) {
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	var notes [2][]byte
	var logs [2]*audit.Log
	for i := range logs {
		if logs[i], err = audit.Open(t.Context(), audit.NewMemory(), audit.NewAnchor(key)); err != nil {
			t.Fatal(err)
		}
		fill(t, logs[i], 100+i)
		if notes[i], err = logs[i].Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range logs {
		if err := audit.Extends(t.Context(), l.Storage(), notes[i], key.Verifier()); err != nil {
			t.Error(err)
		}
		if err := audit.Extends(t.Context(), l.Storage(), notes[1-i], key.Verifier()); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("the checkpoint of another log: %v", err)
		}
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "audit.key")
	keys := make([]*audit.Key, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = audit.OpenKey(path, fmt.Sprint("origin/", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k.Verifier() != keys[0].Verifier() || k.Origin() != keys[0].Origin() {
			t.Errorf("two processes have two keys: %q, %q", k.Verifier(), keys[0].Verifier())
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.OpenKey(path, "o"); err == nil {
		t.Error("a key that others may read was used")
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("PRIVATE+KEY+x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.OpenKey(path, "o"); err == nil {
		t.Error("a torn key was used")
	}
}

// Two processes share an anchor: the other finds the key that one rotates, at any point where the first one ended.
func TestRotationAcrossProcesses(t *testing.T) {
	for _, lost := range [][]string{{"key"}, {"key", "checkpoint"}} {
		t.Run(strings.Join(lost, " and "), func(t *testing.T) { rotateAcross(t, lost) })
	}
}

// rotateAcross has the process that rotates end before some files of the anchor are in place.
func rotateAcross(t *testing.T, lost []string) {
	dir, st := filepath.Join(t.TempDir(), "anchor"), audit.NewMemory()
	open := func() *audit.Log {
		l, err := audit.Open(t.Context(), st, openAnchor(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a := open()
	fill(t, a, 3)
	if _, err := a.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for _, name := range lost {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = text
	}
	if err := a.Rotate(t.Context(), time.Unix(0, 0), nil); err != nil {
		t.Fatal(err)
	}
	for name, text := range before {
		path := filepath.Join(dir, name)
		if name == "key" {
			if err := os.Rename(path, path+".next"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		b := open()
		if b.Key().Verifier() != a.Key().Verifier() {
			t.Error("the old key signs")
		}
		fill(t, b, 3)
		if _, err := b.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := audit.Verify(t.Context(), st, audit.VerifyOptions{Key: a.Key().Verifier()})
	if err != nil || !r.OK() || r.Signed != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

func openAnchor(t *testing.T, dir string) *audit.Anchor {
	t.Helper()
	a, err := audit.OpenAnchor(dir, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The newest head that one process has seen holds for the others: a log that goes back while the one that wrote to it is gone is refused.
func TestSeenByAnotherProcess(t *testing.T) {
	dir, st := filepath.Join(t.TempDir(), "anchor"), audit.NewMemory()
	l, err := audit.Open(t.Context(), st, openAnchor(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	heads := make([]audit.Head, 3)
	other := openAnchor(t, dir)
	for i := range heads {
		fill(t, l, 1)
		if heads[i], err = st.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := other.Check(t.Context(), st, heads[i]); err != nil {
			t.Errorf("after %d entries: %v", i+1, err)
		}
	}
	for _, h := range heads[:2] {
		if err := openAnchor(t, dir).Check(t.Context(), st, h); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("a log of %d entries was taken: %v", h.Size, err)
		}
	}
	behind := openAnchor(t, dir)
	fill(t, l, 1)
	if err := behind.Check(t.Context(), st, heads[2]); !errors.Is(err, audit.ErrDamaged) {
		t.Errorf("a log that went back behind another process was taken: %v", err)
	}
}

// Processes that write the mark at one time never set it back.
func TestMarkIsNotSetBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "anchor")
	const writers, commits = 4, 1000
	heads := make([]audit.Head, writers*commits+1)
	st := audit.NewMemory()
	for i := 1; i < len(heads); i++ {
		if _, err := st.Append(t.Context(), []audit.Entry{{Time: time.Unix(1, 0), Chain: "a", Kind: "k"}}); err != nil {
			t.Fatal(err)
		}
		var err error
		if heads[i], err = st.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for w := range writers {
		a := openAnchor(t, dir)
		all.Go(func() {
			for i := 1 + w; i < len(heads); i += writers {
				if err := a.Committed(t.Context(), st, heads[i-1], heads[i]); err != nil {
					t.Error(err)
					return
				}
				if size := marked(t, dir); size < heads[i].Size {
					t.Errorf("%d entries were committed, and the mark says %d", heads[i].Size, size)
					return
				}
			}
		})
	}
	all.Wait()
}

// marked returns how far the log has come by the file that the processes share.
func marked(t *testing.T, dir string) (size int64) {
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, "mark.lock")).Lock()
	if err != nil {
		t.Error(err)
		return 0
	}
	defer unlock()
	b, err := os.ReadFile(filepath.Join(dir, "mark"))
	if _, scan := fmt.Sscanf(string(b), "%d", &size); err != nil || scan != nil {
		t.Errorf("%q: %v, %v", b, err, scan)
	}
	return size
}

// A mark that the machine lost is not missed: the last checkpoint counts.
func TestTornMark(t *testing.T) {
	dir, st := filepath.Join(t.TempDir(), "anchor"), audit.NewMemory()
	l, err := audit.Open(t.Context(), st, openAnchor(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 3)
	if _, err := l.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "0000", strings.Repeat("\x00", 66), strings.Repeat("x", 66)} {
		if err := os.WriteFile(filepath.Join(dir, "mark"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(t.Context(), st, openAnchor(t, dir))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		fill(t, l, 1)
		if _, err := l.Checkpoint(t.Context()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l := newLog(b, 100_000)
	e := []audit.Entry{{Time: time.Unix(0, 0), Chain: "s", Kind: "decision", Body: make([]byte, 400)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Storage().Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	l := newLog(b, 100_000)
	for b.Loop() {
		fill(b, l, 1)
		if _, err := l.Checkpoint(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProve(b *testing.B) {
	l := newLog(b, 100_000)
	for b.Loop() {
		p, err := l.Prove(b.Context(), 54_321)
		if err == nil {
			err = p.Check(l.Key().Verifier())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newLog(b, n)
			if _, err := l.Checkpoint(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if r, err := audit.Verify(b.Context(), l.Storage(), audit.VerifyOptions{Key: l.Key().Verifier()}); err != nil || !r.OK() {
					b.Fatal(r, err)
				}
			}
		})
	}
}
