package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// openUnder opens a store under the anchor in a directory.
func openUnder(t *testing.T, target, anchor string) (*sqlstore.DB, *audit.Anchor, error) {
	t.Helper()
	a, err := audit.OpenAnchor(anchor, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	db, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Anchor: a})
	if err == nil {
		t.Cleanup(func() { _ = db.Close() })
	}
	return db, a, err
}

// filled returns a store under an anchor, closed, with a session, a label of a resource and a chain whose last entry was erased.
func filled(t *testing.T) (target, anchor string) {
	t.Helper()
	target, anchor = file(t), filepath.Join(t.TempDir(), "anchor")
	db, _, err := openUnder(t, target, anchor)
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
	first, err := db.Log().Append(t.Context(), []audit.Entry{{Chain: "gone", Kind: "k"}, {Chain: "gone", Kind: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	note := func(int64) audit.Entry { return audit.Entry{Kind: "erase", Body: []byte(`{}`)} }
	if n, err := db.Log().Erase(t.Context(), []int64{first + 1}, note); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return target, anchor
}

// older makes a store one of the version before heads committed to the ends of chains.
func older(t *testing.T, target, anchor string) {
	t.Helper()
	db, a, err := openUnder(t, target, anchor)
	if err != nil {
		t.Fatal(err)
	}
	head, err := db.Log().Head(t.Context())
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+target)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, text := range []string{
		"alter table state drop column ends", "alter table state rename column sealed to seal", "drop table ending", "drop table hidden",
		"alter table state rename column present to sessions", "delete from schema where version >= 6", "update chain set name = 'gone' where name = id",
	} {
		if _, err := raw.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
	if _, err := raw.Exec("update state set seal = $1", a.Seal(audit.Head{Size: head.Size, Edge: head.Edge})); err != nil {
		t.Fatal(err)
	}
}

func passes(t *testing.T, db *sqlstore.DB, a *audit.Anchor) {
	t.Helper()
	r, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Anchor: a})
	if err != nil || r.Result() != audit.OK {
		t.Errorf("%+v, %v", r, err)
	}
	s, err := db.Get(t.Context(), "s")
	if err != nil || !s.Label.Private {
		t.Errorf("%+v, %v", s, err)
	}
	l, err := db.Tainted(t.Context(), "file:///", noLimits)
	if err != nil || !l.Covers(uri("x")) {
		t.Errorf("%+v, %v", l, err)
	}
}

// headOf returns how many entries the head of a store says that its log has.
func headOf(t *testing.T, target string) (size int64) {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+target)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.QueryRow("select size from state").Scan(&size); err != nil {
		t.Fatal(err)
	}
	return size
}

// The head of a store that an older version wrote commits to the ends that its log has, for any content of its tables.
func TestOlderStoreCommitsToItsEnds(t *testing.T) {
	target, anchor := filled(t)
	older(t, target, anchor)
	edit(t, target, `update chain set next = 1 where name = 'state:session/s'`)
	before := headOf(t, target)
	db, a, err := openUnder(t, target, anchor)
	if err != nil {
		t.Fatal(err)
	}
	passes(t, db, a)
	if after := headOf(t, target); after <= before { // else the end from before could be shown in the place of this one
		t.Errorf("the head commits to other ends, and has %d entries as before", after)
	}
	if head, err := db.Log().Head(t.Context()); err != nil || string(head.Seal) == string(a.Seal(audit.Head{Size: head.Size, Edge: head.Edge})) {
		t.Errorf("its seal covers no ends: %v", err)
	}
}

func TestOlderStoreWithChangedLogIsRefused(t *testing.T) {
	target, anchor := filled(t)
	older(t, target, anchor)
	edit(t, target, `update entry set kind = 'x' where seq = 1`)
	if _, _, err := openUnder(t, target, anchor); !errors.Is(err, audit.ErrDamaged) {
		t.Errorf("got error %v", err)
	}
}

// The ends of chains, and the nodes that commit to them, are a cache of the log as long as the seal says so.
func TestRebuildEnds(t *testing.T) {
	target, anchor := filled(t)
	db, a, err := openUnder(t, target, anchor)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.RebuildEnds(t.Context()); n != 0 || err != nil {
		t.Errorf("of correct rows, %d are written, %v", n, err)
	}
	for _, text := range []string{
		`delete from ending`,
		`update ending set body = x'00' where n = (select min(n) from ending)`,
		`insert into ending values (5000, x'00'), (1, x'00')`,
		`delete from chain`,
		`update chain set next = next + 1`,
		`update chain set id = 'x' where name = 'state:session/s'`,
		`update chain set name = 'x' where name = 'state:taint/file:///a'`,
		`update chain set name = cast(name as blob)`,
		`update chain set name = 'gone' where name = id`,
		`insert into chain values ('state:taint/file:///b', '00000000000000000000000000000000', 1, zeroblob(32))`,
	} {
		edit(t, target, text)
		r, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Anchor: a})
		if err == nil && r.OK() && text != `update chain set name = cast(name as blob)` { // integrity_check finds that
			t.Errorf("%s: not found", text)
		}
		if n, err := db.RebuildEnds(t.Context()); n == 0 || err != nil {
			t.Errorf("%s: %d rows are written, %v", text, n, err)
		}
		passes(t, db, a)
	}
	edit(t, target, `update state set ends = x'00'`)
	if _, err := db.RebuildEnds(t.Context()); !errors.Is(err, audit.ErrDamaged) {
		t.Errorf("of a head that is not sealed: %v", err)
	}
}
