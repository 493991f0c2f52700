package sqlstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

const quarter = 90 * 24 * time.Hour

// borrow remembers the columns by which retention chooses, and returns a function that puts them back where the rows still are.
func (w *ward) borrow() (back func()) {
	w.Helper()
	for _, table := range []string{"entry", "chain", "session", "question", "taint"} {
		w.exec("create table kept_" + table + " as select * from " + table)
	}
	return func() {
		w.Helper()
		for _, text := range []string{
			"update entry set time = k.time, chain = k.chain, kind = k.kind, outcome = k.outcome from kept_entry k where k.seq = entry.seq and length(entry.salt) > 0",
			"update chain set name = k.name from kept_chain k where k.id = chain.id and chain.name <> chain.id",
			"update session set parent = k.parent, principal = k.principal, label = k.label, created = k.created from kept_session k where k.key = session.key",
			"update question set session = k.session, principal = k.principal, expires = k.expires from kept_question k where k.id = question.id",
			"update taint set label = k.label, expires = k.expires from kept_taint k where k.resource = taint.resource",
		} {
			w.exec(text)
		}
	}
}

// Weir removes nothing as too old by edited columns, and goes on with the rest.
func testEditedStays(t *testing.T, target string) {
	w := newWard(t, target)
	w.fill()
	for _, key := range []string{"child", "lone"} {
		if _, err := w.db.Log().Append(t.Context(), []audit.Entry{{Time: w.now, Chain: key, Kind: "decision", Body: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := w.look()
	back := w.borrow()
	for _, edit := range []string{
		`update entry set time = 1`,
		`update entry set time = 1 where chain like 'state:%'`,
		`update entry set time = 1, chain = 'x' where chain = 'lone'`,
		`update entry set chain = 'x' where chain in ('lone', 'state:session/lone')`,
		`update chain set name = 'x' where name = 'state:session/lone'`,
		`update session set parent = ''`,
		`update session set label = 'not JSON'`,
		`update session set label = '{}', created = 1`,
		`update taint set expires = 1`,
		`update taint set expires = 1, label = '{}'`,
		`update question set session = 'x'`,
	} {
		w.exec(`update session set seen = 1`)
		w.exec(edit)
		if gone, err := w.db.Expire(t.Context(), w.now.Add(-quarter)); err != nil || gone != (store.Expired{}) {
			t.Errorf("%s: %+v, %v", edit, gone, err)
		}
		if n, err := w.db.ForgetQuestions(t.Context(), "", []string{"x"}); n > 0 || err != nil && !errors.Is(err, store.ErrState) {
			t.Errorf("%s: %d questions are forgotten, %v", edit, n, err)
		}
		back()
		after, refused := w.look()
		for key, s := range after.Sessions {
			s.Seen = before.Sessions[key].Seen
			after.Sessions[key] = s
		}
		if diff := cmp.Diff(before, after); diff != "" || refused != nil || !w.report().OK() {
			t.Fatalf("%s: refused %v, %+v\n%s", edit, refused, w.report().Findings, diff)
		}
	}
	seen := w.now.Add(time.Hour)
	if gone, err := w.db.Expire(t.Context(), seen); err != nil || gone.Sessions != 4 || !w.report().OK() {
		t.Errorf("of sessions that are old: %+v, %v, %+v", gone, err, w.report())
	}
	for row, err := range w.db.Log().Rows(t.Context(), audit.Query{Kind: "state", Subject: record.SessionTable, Outcome: "removed"}) {
		if k, bad := record.ParseState(row.Body); err != nil || bad != nil || k.Gone != record.Expired || k.Expires != seen.UnixMicro() {
			t.Errorf("the log tells of the removal as %+v, %v, %v; want the time before which the session was heard of last", k, err, bad)
		}
	}
}

func TestEditedStaysSQLite(t *testing.T)   { testEditedStays(t, file(t)) }
func TestEditedStaysPostgres(t *testing.T) { testEditedStays(t, startCluster(t).fresh(t)) }

// If the log is edited so that a session seems to have ended long ago, it stays, or its removal is found out once the log is put back.
func TestHiddenUseIsFound(t *testing.T) {
	for name, edit := range map[string]string{
		"its calls":             `update entry set chain = 'x' where chain = 'used'`,
		"those that descend":    `update session set parent = '' where key = 'below'`,
		"its calls, as a value": `update entry set chain = cast(chain as blob) where chain = 'used'`,
	} {
		target := file(t)
		w := newWard(t, target)
		long := open(t, target, &sqlstore.Options{Now: func() time.Time { return w.now.Add(-2 * quarter) }})
		for _, key := range []string{"used", "above"} {
			begin(t, long, key)
			if _, _, err := long.Join(t.Context(), key, label.Label{Private: true}, noLimits); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := w.db.Open(t.Context(), store.Ref{Key: "below", Parent: "above", Principal: "alice"}, noLimits); err != nil {
			t.Fatal(err)
		}
		if _, err := w.db.Log().Append(t.Context(), []audit.Entry{{Time: w.now, Chain: "used", Kind: "decision", Body: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
		back := w.borrow()
		w.exec(`update session set seen = 1`)
		w.exec(edit)
		gone, err := w.db.Expire(t.Context(), w.now.Add(-quarter))
		back()
		findings := w.report().Findings
		found := slices.ContainsFunc(findings, func(f replay.Finding) bool { return f.Table == record.SessionTable && f.Entry >= 0 })
		if hidden := gone.Sessions == 1; err != nil || hidden != found || hidden != (name == "those that descend") {
			t.Errorf("%s: %+v, %v, findings %+v", name, gone, err, findings)
		}
	}
}

// A label of a resource that expires under a clock that was set ahead is gone for all who look later, and the log says so.
func testTaintLeaves(t *testing.T, target string) {
	now := time.Now()
	w := newWard(t, target)
	if _, err := w.db.Taint(t.Context(), store.Taint{Resource: "file:///a", Label: uri("x"), Expires: now.Add(quarter)}, noLimits); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour // after which it is believed
	if _, err := w.db.Log().Append(t.Context(), []audit.Entry{{Time: now.Add(quarter)}}); err != nil {
		t.Fatal(err)
	}
	ahead := open(t, target, &sqlstore.Options{Now: func() time.Time { return now.Add(quarter + 2*day) }})
	if gone, err := ahead.Expire(t.Context(), time.Time{}); err != nil || gone.Taints != 1 {
		t.Fatalf("%+v, %v", gone, err)
	}
	for _, db := range []*sqlstore.DB{w.db, open(t, target, nil)} {
		l, err := db.Tainted(t.Context(), "file:///a", noLimits)
		if err != nil || !l.Equal(label.Label{}) {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if report := w.report(); !report.OK() {
		t.Errorf("%+v", report)
	}
}

func TestTaintLeavesSQLite(t *testing.T)   { testTaintLeaves(t, file(t)) }
func TestTaintLeavesPostgres(t *testing.T) { testTaintLeaves(t, startCluster(t).fresh(t)) }

// integrity returns the findings of the database in itself.
func (w *ward) integrity() []string {
	w.Helper()
	in, err := w.db.Integrity(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return in.Findings
}

// A value of another type, a trigger, a view and any other object that the schema does not have is found.
func TestShapeSQLite(t *testing.T) {
	edits := []string{
		"create trigger hide after insert on entry begin update entry set outcome = cast(outcome as blob) where seq = new.seq; end",
		"create view other as select * from entry", "create table other (n)", "create index other on entry (time)", "drop index entry_unusual",
		"alter table taint add column more text",
		"update entry set outcome = cast(outcome as blob)", "update entry set time = cast(time as text) || 'x'", "update entry set salt = 'text'",
		"update chain set name = cast(name as blob) where name like 'state:taint/%'", "update session set label = cast(label as blob)",
		"update question set body = 1.5",
	}
	if found := newWard(t, file(t)).integrity(); len(found) > 0 {
		t.Errorf("of an empty store: %q", found)
	}
	for _, edit := range edits {
		w := newWard(t, file(t))
		w.fill()
		if found := w.integrity(); len(found) > 0 {
			t.Fatalf("before: %q", found)
		}
		w.exec(edit)
		if len(w.integrity()) == 0 {
			t.Errorf("%s: not found", edit)
		}
	}
}

func TestShapePostgres(t *testing.T) {
	target := startCluster(t).fresh(t)
	w := newWard(t, target)
	w.fill()
	w.exec("create function hide() returns trigger language plpgsql as 'begin return null; end'")
	for _, c := range [][2]string{
		{"create trigger hide before insert on entry for each row execute function hide()", "drop trigger hide on entry"},
		{"create rule hide as on delete to entry do instead nothing", "drop rule hide on entry"},
		{"create policy hide on entry using (false)", "drop policy hide on entry"},
		{"create table heir () inherits (taint)", "drop table heir"},
		{"create index other on entry (time)", "drop index other"},
		{"alter table entry alter subject type varchar", "alter table entry alter subject type text"},
		{"create table beside (n int)", ""},
	} {
		w.exec(c[0])
		if found := w.integrity(); len(found) == 0 != (c[1] == "") {
			t.Errorf("%s: %q", c[0], found)
		}
		if c[1] != "" {
			w.exec(c[1])
		}
		if found := w.integrity(); len(found) > 0 {
			t.Errorf("%s: %q", c[1], found)
		}
	}
}

// A chain whose name is hidden as a value of another type is missed, and two of one name are found.
func TestChainsOfOneName(t *testing.T) {
	w := newWard(t, file(t))
	taint := func() error {
		_, err := open(t, w.path(), nil).Taint(t.Context(), store.Taint{Resource: "file:///a", Label: uri("x")}, noLimits)
		return err
	}
	if err := taint(); err != nil {
		t.Fatal(err)
	}
	w.exec(`delete from taint`)
	w.exec(`update chain set name = cast(name as blob)`)
	if err := taint(); !errors.Is(err, store.ErrState) {
		t.Errorf("got error %v", err)
	}
	w.exec(`insert into chain select cast(name as text), id || 'ff', next, last from chain`)
	w.exec(`update chain set id = substr(id, 3) where typeof(name) = 'text'`)
	report, err := audit.Verify(t.Context(), w.db.Log(), audit.VerifyOptions{})
	if err != nil || !slices.ContainsFunc(report.Findings, func(f audit.Finding) bool { return strings.Contains(f.What, "both kept as") }) {
		t.Errorf("%+v, %v", report, err)
	}
}

// path returns the file of the database.
func (w *ward) path() (path string) {
	w.Helper()
	if err := w.raw.QueryRowContext(w.Context(), `select file from pragma_database_list where name = 'main'`).Scan(&path); err != nil {
		w.Fatal(err)
	}
	return path
}
