package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/audit/audittest"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/store/storetest"
)

// open opens a database and closes it when the test ends.
func open(tb testing.TB, target string, opts *sqlstore.Options) *sqlstore.DB {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), target, opts)
	if err != nil {
		tb.Fatal(err)
	}
	paths.Store(db, target)
	tb.Cleanup(func() {
		paths.Delete(db)
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func file(tb testing.TB) string { return filepath.Join(tb.TempDir(), "state", "state.db") }

func TestSQLite(t *testing.T) {
	storetest.RunBackend(t, func(t *testing.T, now func() time.Time) store.Backend {
		return open(t, file(t), &sqlstore.Options{Now: now})
	})
}

func TestSQLiteLog(t *testing.T) {
	audittest.Run(t, func(t *testing.T) audit.Store { return open(t, file(t), nil).Log() })
}
