package ledger_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An edited entry is neither erased nor selects others: it is named. Where a session was edited, nothing is selected.
func TestEditedIsNotErased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlstore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(newKey(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	exec := func(text string) {
		t.Helper()
		if _, err := raw.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	now := time.Now()
	for _, session := range []string{"one", "two"} {
		if _, _, err := db.Open(t.Context(), store.Ref{Key: session, Principal: "p"}, store.Limits{}); err != nil {
			t.Fatal(err)
		}
		e := record.New(record.Decision, now)
		e.Session, e.Principal, e.Effect = session, "p", "block"
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	exec("create table kept_entry as select * from entry")
	exec("create table kept_session as select * from session")
	old := ledger.Selection{Until: now.Add(-365 * 24 * time.Hour)}
	two := ledger.Selection{Session: "two"}
	some := ledger.Selection{Session: "two", Until: now.Add(time.Hour)}
	for _, c := range []struct {
		edit string
		by   ledger.Selection
	}{
		{"update entry set time = 1 where outcome = 'block'", old},
		{"update entry set time = 1, kind = 'erase' where outcome = 'block'", old},
		{`update entry set body = '{"session":"two"}' where chain = 'one'`, two},
		{`update entry set body = '{"session":"two"}' where chain = 'one'`, some},
		{"update entry set kind = 'decision' where kind = 'state'", two},
		{"update session set parent = 'two' where key = 'one'", two},
		{"update session set parent = 'two' where key = 'one'", some},
		{"update session set principal = 'q' where key = 'one'", ledger.Selection{Principal: "q"}},
	} {
		exec(c.edit)
		switch chosen, err := l.Select(t.Context(), c.by); {
		case errors.Is(err, store.ErrState):
		case err != nil || !errors.Is(chosen.Left(), audit.ErrDamaged):
			t.Errorf("%s: %+v, %v", c.edit, chosen, err)
		default:
			for seq := range edited(t, raw) {
				if slices.Contains(chosen.Events, seq) || !strings.Contains(chosen.Left().Error(), fmt.Sprint(seq)) {
					t.Errorf("%s: entry %d is not left, or not named: %+v, %v", c.edit, seq, chosen, chosen.Left())
				}
			}
		}
		exec("update entry set time = k.time, kind = k.kind, body = k.body from kept_entry k where k.seq = entry.seq")
		exec("update session set parent = k.parent, principal = k.principal from kept_session k where k.key = session.key")
	}
	// The entry by which the log proves a session is needed, though its row was removed.
	exec("delete from session where key = 'one'")
	chosen, err := l.Select(t.Context(), ledger.Selection{Until: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range chosen.Events {
		for row, err := range db.Log().Rows(t.Context(), audit.Query{From: seq, To: seq + 1}) {
			if err != nil || row.Kind == string(record.StateRow) {
				t.Errorf("entry %d, %s, %v", seq, row.Chain, err)
			}
		}
	}
	exec("insert into session select * from kept_session where key = 'one'")
	if chosen, err = l.Select(t.Context(), two); err != nil || chosen.Empty() || chosen.Left() != nil {
		t.Errorf("put back: %+v, %v", chosen, err)
	}
	// A session whose row is hidden is not forgotten without its row, which could come back.
	exec("delete from session where key = 'two'")
	if _, err = l.Select(t.Context(), two); !errors.Is(err, store.ErrState) {
		t.Errorf("of a hidden session: %v", err)
	}
}

// edited returns the numbers of the entries that are not as they were kept.
func edited(t *testing.T, raw *sql.DB) map[int64]bool {
	t.Helper()
	rows, err := raw.Query("select e.seq from entry e join kept_entry k on k.seq = e.seq where e.time <> k.time or e.kind <> k.kind or e.body <> k.body")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seqs := map[int64]bool{}
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			t.Fatal(err)
		}
		seqs[seq] = true
	}
	return seqs
}

// One entry that was changed stays and is named; retention goes on with all others, and the log says so.
func TestRetentionGoesOnBesideDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlstore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(newKey(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Now()
	for range 10 {
		if err := l.Record(t.Context(), record.New(record.Decision, now.Add(-time.Hour*24*20))); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("update entry set body = '{}' where seq in (0, 4)"); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, 1} { // by age, and because the store is too large
		_, _, err = l.Prune(t.Context(), ledger.Retention{Events: time.Hour * 24 * 10, Bytes: size}, now)
		if !errors.Is(err, audit.ErrDamaged) || !strings.Contains(err.Error(), "0,4") {
			t.Errorf("got error %v", err)
		}
	}
	erased := 0
	for row, err := range db.Log().Rows(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Erased() {
			erased++
		}
	}
	if erased != 8 {
		t.Errorf("%d entries are erased, want 8", erased)
	}
}

func newKey(t *testing.T) *audit.Key {
	t.Helper()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	return key
}
