package sqlstore_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/store/sqlstore"
)

// Each page of a file that is overwritten is noticed, but for those that hold nothing.
func TestIntegrityFindsEachPage(t *testing.T) {
	path := written(t, true)
	whole, err := os.ReadFile(path)
	must(t, err)
	size := int(binary.BigEndian.Uint16(whole[16:]))
	pages, free := len(whole)/size, freePages(whole, size)
	damaged := filepath.Join(t.TempDir(), "state.db")
	for page := range pages {
		b := bytes.Clone(whole)
		for i := range size {
			b[page*size+i] ^= byte(i*7 + 1)
		}
		must(t, os.WriteFile(damaged, b, 0o600))
		db, err := sqlstore.Open(t.Context(), damaged, &sqlstore.Options{ReadOnly: true})
		if err != nil {
			continue
		}
		in, err := db.Integrity(t.Context())
		if err == nil && len(in.Findings) == 0 && !free[page+1] {
			t.Errorf("page %d of %d was overwritten, and nothing is found", page+1, pages)
		}
		must(t, db.Close())
	}
	db, err := sqlstore.Open(t.Context(), path, &sqlstore.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	if in, err := db.Integrity(t.Context()); err != nil || len(in.Findings) > 0 || len(in.Checked) == 0 {
		t.Errorf("of a sound file: %+v, %v", in, err)
	}
}

// freePages returns the numbers of the free pages of a file (SQLite's file format, section 1.5).
func freePages(b []byte, size int) map[int]bool {
	free := map[int]bool{}
	for trunk := int(binary.BigEndian.Uint32(b[32:])); trunk != 0; {
		at := b[(trunk-1)*size:]
		for i := range int(binary.BigEndian.Uint32(at[4:])) {
			free[int(binary.BigEndian.Uint32(at[8+4*i:]))] = true
		}
		trunk = int(binary.BigEndian.Uint32(at))
	}
	return free
}

func TestPostgresIntegrity(t *testing.T) {
	c := startCluster(t)
	target := c.fresh(t)
	db := open(t, target, nil)
	must(t, appendOne(t.Context(), db))
	said := func() string {
		in, err := db.Integrity(t.Context())
		if err != nil || len(in.Findings) > 0 {
			t.Fatalf("%+v, %v", in, err)
		}
		return strings.Join(in.Checked, "\n")
	}
	if strings.Contains(said(), "amcheck") {
		t.Error("indices were checked without amcheck")
	}
	admin, err := sql.Open("pgx", target)
	must(t, err)
	defer admin.Close()
	_, err = admin.Exec("create extension amcheck schema public")
	must(t, err)
	if !strings.Contains(said(), "bt_index_check") {
		t.Error("indices were not checked")
	}
	// An index that does not agree with its table, as a torn page leaves it.
	for _, text := range []string{
		"create table odd (n int)", "create index odd_n on odd (n)", "insert into odd values (1), (2)",
		"set allow_system_table_mods = on", "update pg_index set indisready = false where indexrelid = 'odd_n'::regclass",
		"insert into odd values (3)", "update pg_index set indisready = true where indexrelid = 'odd_n'::regclass",
	} {
		_, err := admin.Exec(text)
		must(t, err)
	}
	if in, err := db.Integrity(t.Context()); err != nil || len(in.Findings) != 1 || !strings.Contains(in.Findings[0], "odd_n") {
		t.Errorf("%+v, %v", in, err)
	}
}

// written returns a file with a session, its event and three more, the last of which are in the log beside it unless it was closed well.
func written(t *testing.T, closed bool) (path string) {
	t.Helper()
	path = file(t)
	db, err := sqlstore.Open(t.Context(), path, nil)
	must(t, err)
	begin(t, db, "s")
	for range 3 {
		must(t, appendOne(t.Context(), db))
	}
	if closed {
		must(t, db.Close())
		return path
	}
	dead := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dead, 0o755))
	for _, name := range []string{"state.db", "state.db-wal"} { // as a crash leaves them
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		must(t, err, os.WriteFile(filepath.Join(dead, name), b, 0o600))
	}
	must(t, db.Close())
	return filepath.Join(dead, "state.db")
}
