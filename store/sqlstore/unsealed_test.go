package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// TestBlankedSeal takes the seal from a head that is that of the last checkpoint, and gives it other ends of chains: those of an earlier time,
// as anybody can compute them. Nothing is read or written by such a head, and one who puts all back has had nothing decided by it.
func TestBlankedSeal(t *testing.T) {
	target, anchor := file(t), filepath.Join(t.TempDir(), "anchor")
	db, a, err := openUnder(t, target, anchor)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db.Log(), a)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, db, "s")
	if _, _, err := db.Join(t.Context(), "s", label.Label{Private: true}, noLimits); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Taint(t.Context(), store.Taint{Resource: "file:///a", Label: uri("x")}, noLimits); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+target+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for name, kept := range map[string]map[string]int64{
		"an earlier label":      {"state:session/s": 1},
		"no label of the file":  {"state:taint/file:///a": 0},
		"the true ends, bare":   {},
		"no session, no label":  {"state:session/s": 0, "state:taint/file:///a": 0},
		"no session of the log": {"state:session/s": 0},
	} {
		unseal(t, raw, linksOf(t, db, kept))
		if s, err := db.Get(t.Context(), "s"); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("%s: the session is %+v, %v", name, s, err)
		}
		if l, err := db.Tainted(t.Context(), "file:///a", noLimits); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("%s: the label of the file is %+v, %v", name, l, err)
		}
		if _, err := db.Log().Append(t.Context(), []audit.Entry{{Chain: "s", Kind: "decision"}}); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("%s: an entry is appended: %v", name, err)
		}
	}
}

// TestUnsealedAtOpen takes the seal from the head of a closed store, which is that of the last checkpoint, blanks the last entry of a
// session as if it had been erased, and removes the session. A store that was sealed does not open without its seal.
func TestUnsealedAtOpen(t *testing.T) {
	target, anchor := file(t), filepath.Join(t.TempDir(), "anchor")
	db, a, err := openUnder(t, target, anchor)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db.Log(), a)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, db, "s")
	if _, _, err := db.Join(t.Context(), "s", label.Label{Private: true}, noLimits); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+target+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, query := range []string{
		`update entry set salt = '', time = 0, chain = '', kind = '', subject = '', outcome = '', body = '' where seq = (select max(seq) from entry where chain = 'state:session/s')`,
		`delete from session where key = 's'`,
		`update state set sealed = x'', ends = x''`,
	} {
		if _, err := raw.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	db, _, err = openUnder(t, target, anchor)
	if err == nil {
		s, getErr := db.Get(t.Context(), "s")
		t.Errorf("it opens; the session is %+v, %v", s, getErr)
	} else if !errors.Is(err, audit.ErrDamaged) {
		t.Errorf("opening: %v", err)
	}
}

// linksOf returns the ends of the chains as the log has them, but for some as after fewer entries.
func linksOf(t *testing.T, db *sqlstore.DB, kept map[string]int64) (all []audit.Link) {
	t.Helper()
	ends := map[string]audit.Link{}
	for r, err := range db.Log().Rows(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := audit.ParseLeaf(r.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := kept[r.Chain]; !ok || leaf.Pos < n {
			ends[r.Chain] = audit.Link{Name: r.Chain, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(r.Leaf)}
		}
	}
	for _, l := range ends {
		all = append(all, l)
	}
	return all
}

// unseal has the head of a store commit to these ends, without a seal.
func unseal(t *testing.T, raw *sql.DB, links []audit.Link) {
	t.Helper()
	ends, nodes, err := audit.EndsOf(links)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := raw.Exec(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`update state set sealed = x'', ends = ?`, ends.RootNode())
	exec(`delete from ending`)
	for _, n := range nodes {
		exec(`insert into ending values (?, ?)`, n.N, n.Body)
	}
	exec(`delete from chain where name like 'state:%'`)
	for _, l := range links {
		if strings.HasPrefix(l.Name, "state:") {
			exec(`insert into chain values (?, ?, ?, ?)`, l.Name, l.ID.String(), l.Next, l.Last[:])
		}
	}
}
