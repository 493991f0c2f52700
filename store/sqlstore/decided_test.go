package sqlstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// A decision is kept only on the session as another process leaves it, and a read afresh sees that within a decision too.
func TestDecidedOnASessionOfOthers(t *testing.T) {
	private := label.Label{Private: true}
	for name, c := range map[string]struct {
		meanwhile func(other *DB) error
		want      error
	}{
		"nothing": {func(*DB) error { return nil }, nil},
		"a call":  {func(other *DB) error { _, err := other.Count(t.Context(), "s"); return err }, nil},
		"another session": {func(other *DB) error {
			_, _, err := other.Open(t.Context(), store.Ref{Key: "other", Principal: "p"}, store.Limits{})
			return err
		}, nil},
		"raised": {func(other *DB) error {
			_, _, err := other.Join(t.Context(), "s", label.Label{Untrusted: true}, store.Limits{})
			return err
		}, store.ErrChanged},
		"lowered": {func(other *DB) error { _, err := other.Lower(t.Context(), "s", private); return err }, store.ErrChanged},
		"a parent": {func(other *DB) error {
			_, _, err := other.Open(t.Context(), store.Ref{Key: "s", Parent: "above", Principal: "p"}, store.Limits{})
			return err
		}, store.ErrChanged},
		"removed": {func(other *DB) error { _, err := other.End(t.Context(), "s"); return err }, store.ErrNotFound},
		"made anew": {func(other *DB) error {
			_, err := other.End(t.Context(), "s")
			time.Sleep(2 * time.Microsecond) // the least difference of times
			if err == nil {
				_, _, err = other.Open(t.Context(), store.Ref{Key: "s", Principal: "p"}, store.Limits{})
			}
			if err == nil {
				_, _, err = other.Join(t.Context(), "s", private, store.Limits{})
			}
			return err
		}, store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, other := openFor(t, dir), openFor(t, dir)
			ctx := store.Together(t.Context())
			if _, _, err := db.Open(ctx, store.Ref{Key: "s", Principal: "p"}, store.Limits{}); err != nil {
				t.Fatal(err)
			}
			on, _, err := db.Join(ctx, "s", private, store.Limits{})
			if err == nil {
				on, err = db.Get(ctx, "s")
			}
			if err == nil {
				err = c.meanwhile(other)
			}
			if err != nil {
				t.Fatal(err)
			}
			now, err := db.Get(store.Afresh(ctx), "s")
			if err == nil {
				err = on.Still(now)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("read afresh: %v; want %v", err, c.want)
			}
			before, err := db.Log().Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			calls, err := db.Decided(ctx, on, true, audit.Entry{Time: time.Now(), Kind: "k"})
			if !errors.Is(err, c.want) || (calls == now.Calls+1) != (c.want == nil) {
				t.Errorf("deciding: %v, %d calls; want %v", err, calls, c.want)
			}
			if s, err := other.Get(t.Context(), "s"); c.want == nil && (err != nil || s.Calls != calls) {
				t.Errorf("%d calls, %v; want %d", s.Calls, err, calls)
			}
			after, err := db.Log().Head(t.Context())
			if err != nil || after.Size > before.Size != (c.want == nil) {
				t.Error(fmt.Sprint(after.Size-before.Size), "entries more, ", err)
			}
		})
	}
}
