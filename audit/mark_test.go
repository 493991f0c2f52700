package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// A fork is a log that some processes write and that an attacker sets back in between. Each write has a number of its own.
type fork struct {
	*rapid.T
	t       *testing.T
	st      *Memory
	anchors []*Anchor
	past    map[tlog.Hash]string // the writes of each log there was, by its root
	old     []*Memory
	pending []commit // that were not noted yet
	sure    []string // logs that were acknowledged
	n       int
}

// A commit is the entries that a process has appended.
type commit struct {
	by       *Anchor
	from, to Head
}

func (f *fork) head() Head {
	h, err := f.st.Head(f.t.Context())
	if err != nil {
		f.Fatal(err)
	}
	h.Seal = f.anchors[0].Seal(h)
	return h
}

// one returns one of the processes, or a new one.
func (f *fork) one() *Anchor {
	if rapid.IntRange(0, 9).Draw(f.T, "fresh") == 0 {
		f.join()
	}
	return rapid.SampledFrom(f.anchors).Draw(f.T, "process")
}

func (f *fork) join() {
	a, err := OpenAnchor(filepath.Join(f.t.TempDir(), "..", "anchor"), "example.com/weir", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.t.Cleanup(func() { _ = a.mark.f.Close() })
	f.anchors = append(f.anchors, a)
}

// read has a process look at the log. The entries acknowledged before are in it, or it is refused.
func (f *fork) read(a *Anchor) (Head, bool) {
	h := f.head()
	err := a.Check(f.t.Context(), f.st, h)
	if err != nil && !errors.Is(err, ErrDamaged) {
		f.Fatal(err)
	}
	if err == nil {
		f.holds(f.past[h.Root()])
	}
	return h, err == nil
}

func (f *fork) holds(log string) {
	for _, sure := range f.sure {
		if !strings.HasPrefix(log, sure) {
			f.Fatalf("the log %q was acknowledged, and then %q", sure, log)
		}
	}
}

func (f *fork) write(*rapid.T) {
	a := f.one()
	before, ok := f.read(a)
	if !ok {
		return
	}
	log := f.past[before.Root()]
	if _, err := f.st.Append(f.t.Context(), make([]Entry, rapid.SampledFrom([]int{1, 1, 1, 2, 2, 3, 3, maxWalk + 1}).Draw(f.T, "entries"))); err != nil {
		f.Fatal(err)
	}
	f.n++
	f.past[f.head().Root()] = log + fmt.Sprint(f.n, " ")
	f.pending = append(f.pending, commit{a, before, f.head()})
	f.old = append(f.old, f.st.clone())
	if rapid.Bool().Draw(f.T, "at once") {
		f.commit(f.T)
	}
}

func (f *fork) commit(*rapid.T) {
	if len(f.pending) == 0 {
		return
	}
	at := rapid.IntRange(0, len(f.pending)-1).Draw(f.T, "commit")
	c := f.pending[at]
	f.pending = append(f.pending[:at:at], f.pending[at+1:]...)
	switch err := c.by.Committed(f.t.Context(), f.st, c.from, c.to); {
	case err == nil:
		log := f.past[c.to.Root()]
		for _, sure := range f.sure {
			if !strings.HasPrefix(log, sure) && !strings.HasPrefix(sure, log) {
				f.Fatalf("the log %q is acknowledged, and %q was", log, sure)
			}
		}
		f.sure = append(f.sure, log)
	case !errors.Is(err, ErrDamaged):
		f.Fatal(err)
	}
}

func (f *fork) look(*rapid.T) { f.read(f.one()) }

// setBack makes the log another that there was: mostly one that has all that was acknowledged.
func (f *fork) setBack(*rapid.T) {
	from := f.old
	if rapid.IntRange(0, 4).Draw(f.T, "any") > 0 {
		from = slices.DeleteFunc(slices.Clone(from), func(m *Memory) bool {
			log := f.past[m.head.Root()]
			return slices.ContainsFunc(f.sure, func(sure string) bool { return !strings.HasPrefix(log, sure) })
		})
	}
	if len(from) > 0 {
		f.st = rapid.SampledFrom(from).Draw(f.T, "log").clone()
	}
}

// TestAcknowledgedIsHeld lets processes commit, note and read in any order, and sets the log back in between: to the time before a commit
// that was not noted yet, to a log that others made of that, and forth again. Each acknowledged entry is part of each log that is read later.
func TestAcknowledgedIsHeld(t *testing.T) {
	forks := 0
	rapid.Check(t, func(rt *rapid.T) {
		f := &fork{T: rt, t: t, st: NewMemory(), past: map[tlog.Hash]string{}}
		dir := filepath.Join(t.TempDir(), "..", "anchor")
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
		for range 3 {
			f.join()
		}
		f.past[f.head().Root()] = ""
		f.old = append(f.old, f.st.clone())
		actions := map[string]func(*rapid.T){"write": f.write, "write more": f.write, "commit": f.commit, "look": f.look, "set back": f.setBack}
		rt.Repeat(actions)
		forks += len(f.sure)
	})
	if forks == 0 {
		t.Error("nothing was acknowledged")
	}
}

// A process that is behind goes on from the entries of others, one entry or many, and from nothing else.
func TestBehindCatchesUp(t *testing.T) {
	for _, grown := range []int64{1, 100, maxWalk, maxWalk + 1, 5000} {
		a, err := OpenAnchor(filepath.Join(t.TempDir(), "anchor"), "example.com/weir", nil)
		if err != nil {
			t.Fatal(err)
		}
		st := NewMemory()
		for _, size := range []int64{7, 7 + grown} {
			if err := a.Check(t.Context(), st, grow(t, st, a, size)); err != nil {
				t.Errorf("%d entries more: %v", grown, err)
			}
		}
		for _, more := range []int64{0, 1, 2000} {
			other := NewMemory()
			if err := a.Check(t.Context(), other, grow(t, other, a, 7+grown+more)); !errors.Is(err, ErrDamaged) {
				t.Errorf("another log, %d entries longer: %v", more, err)
			}
		}
	}
}

// A log that goes on from where a process has read it last, and not from where another process has brought it since, is refused.
func TestForkBehindMark(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "anchor")
	a, err := OpenAnchor(dir, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := OpenAnchor(dir, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := NewMemory()
	first := grow(t, st, a, 5)
	for _, err := range []error{a.Check(t.Context(), st, first), reader.Check(t.Context(), st, first)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	other := st.clone()
	if err := a.Committed(t.Context(), st, first, grow(t, st, a, 6)); err != nil {
		t.Fatal(err)
	}
	if err := reader.Check(t.Context(), other, grow(t, other, a, 7)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a log without an entry that was acknowledged: %v", err)
	}
}

// grow appends entries up to a size, and returns the head, sealed.
func grow(t *testing.T, st *Memory, a *Anchor, size int64) Head {
	t.Helper()
	h, err := st.Head(t.Context())
	if err == nil {
		_, err = st.Append(t.Context(), make([]Entry, size-h.Size))
	}
	if err == nil {
		h, err = st.Head(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h.Seal = a.Seal(h)
	return h
}

// An anchor that is closed leaves no file open, and takes no note of how far a log has come.
func TestClosedAnchor(t *testing.T) {
	a, err := OpenAnchor(filepath.Join(t.TempDir(), "anchor"), "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := NewMemory()
	if err := a.Check(t.Context(), st, grow(t, st, a, 3)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.mark.f.Stat(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("its file is open: %v", err)
	}
	if err := a.Check(t.Context(), st, grow(t, st, a, 4)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a log was checked: %v", err)
	}
}
