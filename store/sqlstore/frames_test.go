package sqlstore_test

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// The write-ahead log of a file begins anew before it is much longer than 2,000 frames, and nothing that was written is
// missing in the file then.
func TestWriteAheadLogBeginsAnew(t *testing.T) {
	target := file(t)
	db := open(t, target, &sqlstore.Options{Unsynced: true})
	const frame, entries, each = 4096 + 24, 260, 40_000
	for range entries {
		body := make([]byte, each)
		_, _ = rand.Read(body)
		_, err := db.Log().Append(t.Context(), []audit.Entry{{Chain: "s", Kind: "decision", Body: body}})
		must(t, err)
	}
	info, err := os.Stat(target + "-wal")
	must(t, err)
	if info.Size() > 2100*frame {
		t.Errorf("the log has %d bytes", info.Size())
	}
	must(t, db.Close())
	n := 0
	for row, err := range open(t, target, nil).Log().Rows(t.Context(), audit.Query{Chain: "s"}) {
		must(t, err)
		if n++; len(row.Body) != each {
			t.Errorf("entry %d has %d bytes", row.Seq, len(row.Body))
		}
	}
	if n != entries {
		t.Errorf("%d entries are there, of %d", n, entries)
	}
}
