package capture_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/record"
)

func newKey(tb testing.TB) (*capture.Key, *capture.Box) {
	tb.Helper()
	key, err := capture.OpenKey(filepath.Join(tb.TempDir(), "state", "capture"))
	if err != nil {
		tb.Fatal(err)
	}
	box, err := capture.NewBox(key.Recipient())
	if err != nil {
		tb.Fatal(err)
	}
	return key, box
}

func TestWhatIsSealedComesBack(t *testing.T) {
	key, box := newKey(t)
	other, _ := newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		c := &record.Content{Arguments: rapid.SliceOf(rapid.Byte()).Draw(t, "arguments"), Result: rapid.SliceOf(rapid.Byte()).Draw(t, "result")}
		sealed, err := box.Seal(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Arguments) > 8 && bytes.Contains(sealed, c.Arguments) {
			t.Error("it is not encrypted")
		}
		got, err := key.Open(sealed)
		if err != nil || !bytes.Equal(got.Arguments, c.Arguments) || !bytes.Equal(got.Result, c.Result) || got.Cut {
			t.Errorf("got %q and %q, %v", got.Arguments, got.Result, err)
		}
		if _, err := other.Open(sealed); !errors.Is(err, capture.ErrDamaged) {
			t.Errorf("another key: %v", err)
		}
		sealed[rapid.IntRange(0, len(sealed)-1).Draw(t, "at")] ^= 1
		if got, err := key.Open(sealed); err == nil {
			t.Errorf("a changed byte was not found: %q", got.Arguments)
		}
	})
}

func TestLongPartsAreLeftOut(t *testing.T) {
	key, box := newKey(t)
	sealed, err := box.Seal(&record.Content{Arguments: []byte("{}"), Result: make([]byte, capture.MaxPart+1)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := key.Open(sealed)
	if diff := cmp.Diff(capture.Parts{Arguments: []byte("{}"), Cut: true}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, nothing := range []*record.Content{nil, {Salt: "00"}} {
		if sealed, err := box.Seal(nothing); sealed != nil || err != nil {
			t.Errorf("nothing was sealed as %d bytes, %v", len(sealed), err)
		}
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "capture")
	var recipients sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			key, err := capture.OpenKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			recipients.Store(key.Recipient(), true)
		})
	}
	wg.Wait()
	n := 0
	recipients.Range(func(any, any) bool { n++; return true })
	if info, err := os.Stat(path); n != 1 || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%d keys, mode %v, %v", n, info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := capture.OpenKey(path); err == nil {
		t.Error("a key that others may read was taken")
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := capture.OpenKey(bad); err == nil || bytes.Contains([]byte(err.Error()), []byte("hunter2")) {
		t.Errorf("a bad key: %v", err)
	}
	for _, recipients := range [][]string{nil, {"age1xyz"}, {"hunter2"}} {
		if _, err := capture.NewBox(recipients...); err == nil || bytes.Contains([]byte(err.Error()), []byte("hunter2")) {
			t.Errorf("%q: %v", recipients, err)
		}
	}
}

// FuzzDecode reads anything: texts that it takes have parts that are no longer than the input.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02{}\xff\xff\xff\xff"))
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x01\x00\x00\x00\x09{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := capture.Decode(b)
		if err != nil && !errors.Is(err, capture.ErrDamaged) {
			t.Fatal(err)
		}
		if err == nil && len(p.Arguments)+len(p.Result) > len(b)-9 {
			t.Errorf("%q has parts of %d and %d bytes", b, len(p.Arguments), len(p.Result))
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	_, box := newKey(b)
	c := &record.Content{Arguments: make([]byte, 1<<10)}
	b.SetBytes(1 << 10)
	for b.Loop() {
		if _, err := box.Seal(c); err != nil {
			b.Fatal(err)
		}
	}
}

// A sealer makes its key when it is first used; others with the same file read its texts, and none else.
func TestSealer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "capture")
	first, second := capture.NewSealer(path), capture.NewSealer(path)
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a key before anything is sealed")
	}
	text := []byte("a hidden text")
	sealed, err := first.Seal(text)
	if err != nil || bytes.Contains(sealed, text) {
		t.Fatalf("%q, %v", sealed, err)
	}
	if got, err := second.Open(sealed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := capture.NewSealer(path + "2").Open(sealed); !errors.Is(err, capture.ErrDamaged) {
		t.Errorf("with another key: %q, %v", got, err)
	}
}
