package ledger_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An entry or a session that somebody has edited is neither erased nor decides what is: nothing is selected then.
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
		chosen, err := l.Select(t.Context(), c.by)
		if !errors.Is(err, audit.ErrDamaged) && !errors.Is(err, store.ErrState) {
			t.Errorf("%s: %+v, %v", c.edit, chosen, err)
		}
		exec("update entry set time = k.time, kind = k.kind, body = k.body from kept_entry k where k.seq = entry.seq")
		exec("update session set parent = k.parent, principal = k.principal from kept_session k where k.key = session.key")
	}
	// The entry by which the log proves a session is needed, though somebody took its row away.
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
	if chosen, err = l.Select(t.Context(), two); err != nil || chosen.Empty() {
		t.Errorf("put back: %+v, %v", chosen, err)
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
