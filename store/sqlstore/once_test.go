package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Entries that are deferred are written once, also if their transaction was committed and the anchor could not note it, however often it
// is tried, and with any writes in between.
func testWrittenOnce(t *testing.T, target string) {
	dir := filepath.Join(t.TempDir(), "anchor")
	a, err := audit.OpenAnchor(dir, "example.com/weir", nil)
	must(t, err)
	db, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Anchor: a, Linger: time.Hour})
	must(t, err)
	begin(t, db, "s")
	other, err := audit.OpenAnchor(dir, "example.com/weir", nil)
	must(t, err)
	beside, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Anchor: other})
	must(t, err)
	lock := filepath.Join(dir, "mark.lock")
	for _, goOn := range []func() error{
		func() error { return db.Flush(t.Context()) },
		func() error { _, err := db.Log().Append(t.Context(), []audit.Entry{{Kind: "later"}}); return err },
		func() error { _, err := beside.Log().Append(t.Context(), []audit.Entry{{Kind: "beside"}}); return err },
	} {
		must(t, db.Defer(t.Context(), audit.Entry{Kind: "deferred"}))
		must(t, db.Tally(t.Context(), "s"))
		must(t, errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700))) // nothing can be noted
		for range 3 {
			if err := db.Flush(t.Context()); err == nil {
				t.Error("a write that was not noted counts as written")
			}
		}
		must(t, os.Remove(lock))
		must(t, os.WriteFile(lock, nil, 0o600))
		must(t, goOn())
		must(t, db.Flush(t.Context()))
	}
	for kind, want := range map[string]int64{"deferred": 3, "later": 1, "beside": 1} {
		counts, err := db.Log().Count(t.Context(), audit.Query{Kind: kind})
		if err != nil || len(counts) != 1 || counts[0].N != want {
			t.Errorf("%+v entries of the kind %s, %v; want %d", counts, kind, err, want)
		}
	}
	if s, err := db.Get(t.Context(), "s"); err != nil || s.Calls != 3 {
		t.Errorf("%d calls were counted, %v; want 3", s.Calls, err)
	}
	must(t, errors.Join(beside.Close(), db.Close(), other.Close(), a.Close()))
}

func TestWrittenOnceSQLite(t *testing.T)   { testWrittenOnce(t, file(t)) }
func TestWrittenOncePostgres(t *testing.T) { testWrittenOnce(t, startCluster(t).fresh(t)) }
