package sqlstore

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
)

// Callers of a writer that does not come back get an error, and their ops do not run later.
func TestWriterDoesNotComeBack(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), &Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	add := func() error {
		_, err := db.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Kind: "k"}})
		return err
	}
	db.writer.turn <- struct{}{}
	db.writer.opts.Timeout = 100 * time.Millisecond
	for range 3 {
		if err := add(); !errors.Is(err, ErrStalled) {
			t.Errorf("%v; want ErrStalled", err)
		}
	}
	if h := db.Health(); h.State != Stalled {
		t.Errorf("it is %v", h.State)
	}
	db.writer.opts.Timeout = time.Minute // an entry that a slow disk takes its time for counts too
	<-db.writer.turn
	for deadline := time.Now().Add(time.Minute); add() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	if head, err := db.Log().Head(t.Context()); err != nil || head.Size != 1 {
		t.Errorf("%d entries, %v; want 1", head.Size, err)
	}
	o := &op{}
	o.abandon()
	if err := o.perform(t.Context(), nil); !errors.Is(err, ErrStalled) {
		t.Errorf("an op that was abandoned did something: %v", err)
	}
}

// Placeholders lose their numbers only where those say no more than their order.
func TestBarePlaceholders(t *testing.T) {
	for text, want := range map[string]string{
		"select 1": "select 1", "values ($1, $2), ($3, $4)": "values (?, ?), (?, ?)", "a = $1 or b = $1": "a = $1 or b = $1",
		"a = $2 and b = $1": "a = $2 and b = $1", "x = $1 and y > $3": "x = $1 and y > $3",
	} {
		if got := bare(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
