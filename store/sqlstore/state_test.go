package sqlstore_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
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

var stateEdits = flag.Int("state.edits", 300, "how many edits of the tables of the state TestStateEdits makes, one at a time")

// A ward is a database with state in it, and a connection of an attacker.
type ward struct {
	*testing.T
	db  *sqlstore.DB
	raw *sql.DB
	now time.Time
}

func newWard(t *testing.T, target string) *ward {
	t.Helper()
	w := &ward{T: t, db: open(t, target, &sqlstore.Options{Unsynced: true}), now: time.Now()}
	driver := "sqlite"
	if strings.Contains(target, "://") {
		driver = "pgx"
	} else {
		target = "file:" + target + "?_pragma=busy_timeout(10000)&_pragma=synchronous(off)"
	}
	var err error
	if w.raw, err = sql.Open(driver, target); err != nil {
		t.Fatal(err)
	}
	w.raw.SetMaxOpenConns(1)
	t.Cleanup(func() { w.raw.Close() })
	return w
}

// fill keeps sessions with parents and labels, labels of resources, and questions in all standings.
func (w *ward) fill() {
	w.Helper()
	ctx := w.Context()
	do := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	for _, ref := range []store.Ref{{Key: "child", Parent: "parent", Principal: "alice"}, {Key: "lone", Principal: "bob"}, {Key: "new", Principal: "bob"}} {
		_, _, err := w.db.Open(ctx, ref, noLimits)
		do(err)
	}
	for key, l := range map[string]label.Label{
		"child": {Untrusted: true, Attribution: label.SetOf("mcp://web")},
		"lone":  {Private: true, Sensitivity: label.SetOf(label.Credentials, label.PII), Readers: label.OnlyReaders("bob")},
	} {
		_, _, err := w.db.Join(ctx, key, l, noLimits)
		do(err)
		_, err = w.db.Count(ctx, key)
		do(err)
	}
	lowered := audit.Entry{Chain: "lone", Kind: string(record.Declassify), Body: []byte(`{"kind":"declassify","session":"lone"}`)}
	_, err := w.db.LowerNoted(ctx, "lone", label.Label{Sensitivity: label.SetOf(label.PII)}, lowered)
	do(err)
	for i, name := range []string{"file:///a", "file:///a/b", "file:///c"} {
		_, err := w.db.Taint(ctx, store.Taint{Resource: name, Label: uri("mcp://%d", i), Expires: w.now.Add(time.Hour)}, noLimits)
		do(err)
	}
	for _, q := range []string{"open", "accepted", "declined", "redeemed", "end:x"} {
		body := []byte(q)
		if q == "end:x" {
			body = nil
		}
		do(w.db.Ask(ctx, store.Question{ID: "q-" + q, Principal: "alice", Session: "child", Binding: q, Body: body, Expires: w.now.Add(time.Hour)}))
		switch q {
		case "open":
			continue
		case "declined":
			_, err = w.db.Answer(ctx, "q-"+q, "alice", store.Declined)
		default:
			_, err = w.db.Answer(ctx, "q-"+q, "alice", store.Accepted)
		}
		do(err)
	}
	do(keepValues(w.db, "bob", "lone", map[string]string{"v1": "one", "v2": "two"}))
	do(keepValues(w.db, "alice", "child", map[string]string{"v3": "three"}))
	ok, err := w.db.Redeem(ctx, "redeemed")
	if !ok || err != nil {
		w.Fatal(ok, err)
	}
}

func (w *ward) exec(text string, args ...any) {
	w.Helper()
	if _, err := w.raw.ExecContext(w.Context(), text, args...); err != nil {
		w.Fatalf("%s: %v", text, err)
	}
}

func (w *ward) report() *replay.Report {
	w.Helper()
	var report *replay.Report
	err := w.db.Log().Snapshot(w.Context(), func(st audit.Store) (err error) {
		report, err = replay.Verify(w.Context(), st.(replay.Kept), time.Now())
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return report
}

// seen is the state that decisions read.
type seen struct {
	Sessions  map[string]store.Session
	Taints    map[string]label.Label
	Questions map[string][]store.Question
	Values    map[string]map[string]string // by session and ID: bodies, notes and labels
}

// look reads all of it, but for refused rows, whose names it returns.
func (w *ward) look() (s seen, refused []string) {
	w.Helper()
	ctx := w.Context()
	s = seen{map[string]store.Session{}, map[string]label.Label{}, map[string][]store.Question{}, map[string]map[string]string{}}
	note := func(name string, err error) bool {
		if err != nil {
			refused = append(refused, name)
		}
		return err == nil
	}
	for _, key := range []string{"child", "parent", "lone", "new"} {
		if one, err := w.db.Get(ctx, key); note(key, err) {
			s.Sessions[key] = one
		}
	}
	for _, name := range []string{"file:///a", "file:///a/b", "file:///c", "file:///c/d"} {
		if l, err := w.db.Tainted(ctx, name, noLimits); note(name, err) {
			s.Taints[name] = l
		}
	}
	for session, principal := range map[string]string{"lone": "bob", "child": "alice", "new": "bob"} {
		if all, err := valuesOf(w.db, principal, session); note(session, err) {
			s.Values[session] = all
		}
	}
	for _, binding := range []string{"open", "accepted", "declined", "redeemed", "end:x"} {
		var all []store.Question
		var failed error
		for q, err := range w.db.Questions(ctx, store.QuestionQuery{Binding: binding}) {
			if err != nil {
				failed = err
				break
			}
			all = append(all, q)
		}
		if note(binding, failed) {
			s.Questions[binding] = all
		}
	}
	return s, refused
}

// A label that an attacker lowers in the database is not believed by a weir that runs, nor by one that starts; it is told of in the log,
// and reported.
func testLowered(t *testing.T, target string) {
	w := newWard(t, target)
	w.fill()
	other := open(t, target, nil) // it has read nothing yet
	if _, refused := w.look(); refused != nil || !w.report().OK() {
		t.Fatalf("before: %v, %+v", refused, w.report())
	}
	w.exec(`update session set label = '{}' where key = 'lone'`)
	for name, db := range map[string]*sqlstore.DB{"it runs": w.db, "it starts": other} {
		ref := store.Ref{Key: "lone", Principal: "bob"}
		_, err := db.Get(t.Context(), "lone")
		_, _, opened := db.Open(t.Context(), ref, noLimits)
		_, _, joined := db.Join(t.Context(), "lone", uri("x"), noLimits)
		_, _, born := db.Open(t.Context(), store.Ref{Key: "below", Parent: "lone", Principal: "bob"}, noLimits)
		_, lowered := db.Lower(t.Context(), "lone", label.Label{Private: true})
		for what, err := range map[string]error{"read": err, "opened": opened, "joined": joined, "inherited": born, "lowered": lowered} {
			if !errors.Is(err, store.ErrState) {
				t.Errorf("%s: %s: got error %v", name, what, err)
			}
		}
		if err := db.Tally(t.Context(), "lone"); err != nil {
			t.Error(err)
		}
		if err := db.Flush(t.Context()); err != nil {
			t.Errorf("%s: others cannot write: %v", name, err)
		}
		if _, err := db.Get(t.Context(), "child"); err != nil {
			t.Errorf("%s: another session: %v", name, err)
		}
	}
	told := 0
	for row, err := range w.db.Log().Rows(t.Context(), audit.Query{Kind: string(record.Damage)}) {
		if err != nil || row.Chain != "lone" {
			t.Errorf("%s, %v", row.Body, err)
		}
		told++
	}
	if told != 2 {
		t.Errorf("%d events tell of it, want one of each process", told)
	}
	report := w.report()
	if len(report.Findings) != 1 || report.Findings[0].Key != "lone" || report.Findings[0].Entry < 0 {
		t.Errorf("report: %+v", report)
	}
}

func TestLoweredSQLite(t *testing.T)   { testLowered(t, file(t)) }
func TestLoweredPostgres(t *testing.T) { testLowered(t, startCluster(t).fresh(t)) }

// testRebuilt destroys the state in all ways, and restores it from the log.
func testRebuilt(t *testing.T, target string) {
	w := newWard(t, target)
	w.fill()
	if _, _, err := w.db.Open(t.Context(), store.Ref{Key: "grandchild", Parent: "child", Principal: "alice"}, noLimits); err != nil {
		t.Fatal(err)
	}
	before, _ := w.look()
	for _, edit := range []string{
		`delete from session`, `delete from taint`, `delete from question where id <> 'q-open'`,
		`update session set label = 'not JSON', parent = '', principal = 'mallory', created = 1 where key = 'child'`,
		`insert into session (key, parent, principal, label, calls, created, seen, height) values ('x', '', 'bob', '{}', 0, 1, 1, 0)`,
		`update taint set label = '{}', expires = 1`, `update question set answer = 'accepted', binding = 'other', body = 'another text'`,
		`update question set answer = 'accepted', expires = expires + 1`, `update session set height = 0, label = '{}'`,
		`update hidden set label = '{}', note = ''`, `update hidden set body = 'x' where id = 'v1'`, `delete from hidden`,
	} {
		w.exec(edit)
		if w.report().OK() {
			t.Errorf("%s: not reported", edit)
		}
		var names []record.Kept
		err := w.db.Log().Snapshot(t.Context(), func(st audit.Store) error {
			fold, err := replay.Read(t.Context(), st)
			if err == nil {
				err = fold.Sound()
			}
			if err != nil {
				return err
			}
			different, _, err := fold.Differences(t.Context(), st.(replay.Kept), time.Now().UnixMicro())
			for _, d := range different {
				names = append(names, d.Row)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", edit, err)
		}
		done, err := w.db.Rebuild(t.Context(), names, func(sqlstore.Rebuilt) (audit.Entry, error) {
			return audit.Entry{Kind: string(record.Restore), Body: []byte(`{}`)}, nil
		})
		if err != nil || done.Written+done.Removed != len(names) {
			t.Fatalf("%s: %+v of %d, %v", edit, done, len(names), err)
		}
		if report := w.report(); !report.OK() {
			t.Fatalf("%s: afterwards %+v", edit, report.Findings)
		}
	}
	after, refused := w.look()
	if refused != nil {
		t.Errorf("refused: %v", refused)
	}
	// A question is lost with its text; an end of a session, which has none, is not.
	for binding, all := range before.Questions {
		if len(all) == 1 && len(all[0].Body) > 0 {
			delete(before.Questions, binding)
			delete(after.Questions, binding)
		}
	}
	for session, all := range before.Values { // nor are bodies in the log
		for id, was := range all {
			_, rest, _ := strings.Cut(was, "\x00")
			all[id] = "\x00" + rest
		}
		before.Values[session] = all
	}
	for key, s := range before.Sessions {
		was := after.Sessions[key]
		s.Seen = was.Seen
		before.Sessions[key] = s
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	n := 0
	if err := w.raw.QueryRow(`select height from session where key = 'parent'`).Scan(&n); err != nil || n != 2 {
		t.Errorf("height %d, %v", n, err)
	}
}

func TestRebuiltSQLite(t *testing.T)   { testRebuilt(t, file(t)) }
func TestRebuiltPostgres(t *testing.T) { testRebuilt(t, startCluster(t).fresh(t)) }

// unproved are the columns of which the log tells nothing: the last use of a session, and derived columns.
var unproved = map[string][]string{"session": {"seen", "height"}, "hidden": {"size"}}

// testStateEdits changes tables in all ways, one at a time. Each edit is reported with its key, or changes nothing that decisions look
// at; and a weir that runs refuses, or sees the earlier state.
func testStateEdits(t *testing.T, target string, edits int) {
	w := newWard(t, target)
	w.fill()
	before, refused := w.look()
	if refused != nil {
		t.Fatal(refused)
	}
	tables := map[string][]string{
		"session":  {"key", "parent", "principal", "label", "calls", "created", "seen", "height"},
		"taint":    {"resource", "label", "written", "expires"},
		"question": {"id", "principal", "session", "binding", "body", "answer", "asked", "expires"},
		"hidden":   {"id", "principal", "session", "label", "note", "digest", "size", "kept", "body"},
	}
	names := []string{"session", "taint", "question", "hidden"}
	for _, table := range names {
		w.exec("create table kept_" + table + " as select * from " + table)
	}
	random := rand.New(rand.NewPCG(uint64(edits), 2))
	reported := 0
	for range edits {
		table := names[random.IntN(len(names))]
		columns := tables[table]
		e := w.edit(random, table, columns)
		report := w.report()
		found := slices.ContainsFunc(report.Findings, func(f replay.Finding) bool { return f.Table == table && slices.Contains(e.keys, f.Key) })
		after, refused := w.look()
		switch {
		case found:
			reported++
		case !report.OK():
			t.Fatalf("%s: reported elsewhere: %+v", e.text, report.Findings)
		case e.changed && !slices.Contains(unproved[table], e.column):
			t.Fatalf("%s: not reported", e.text)
		case len(refused) > 0:
			t.Fatalf("%s: not reported, and %v are refused", e.text, refused)
		}
		w.compare(e.text, before, after, refused)
		for _, name := range names {
			w.exec("delete from " + name)
			w.exec("insert into " + name + " select * from kept_" + name)
		}
	}
	t.Logf("%d of %d edits were reported, the others change nothing", reported, edits)
	if reported < edits/2 {
		t.Errorf("only %d of %d edits are reported: this test edits nothing", reported, edits)
	}
	if _, refused := w.look(); refused != nil || !w.report().OK() {
		t.Errorf("afterwards: %v, %+v", refused, w.report())
	}
}

// compare holds that all which is not refused is as before, but for when a session was used.
func (w *ward) compare(edit string, before, after seen, refused []string) {
	w.Helper()
	for key, s := range after.Sessions {
		was := before.Sessions[key]
		s.Calls, s.Seen = was.Calls, was.Seen
		if diff := cmp.Diff(was, s); diff != "" {
			w.Fatalf("%s: session %s:\n%s", edit, key, diff)
		}
	}
	for name, l := range after.Taints {
		if !l.Covers(before.Taints[name]) {
			w.Fatalf("%s: the label of %s is lower: %+v", edit, name, l)
		}
	}
	for binding, all := range after.Questions {
		if diff := cmp.Diff(before.Questions[binding], all); diff != "" {
			w.Fatalf("%s: questions of %s:\n%s", edit, binding, diff)
		}
	}
	for session, all := range after.Values {
		if diff := cmp.Diff(before.Values[session], all); diff != "" {
			w.Fatalf("%s: values of %s:\n%s", edit, session, diff)
		}
	}
	if n := len(after.Sessions) + len(after.Taints) + len(after.Questions) + len(after.Values) + len(refused); n != 16 {
		w.Fatalf("%s: %d answers", edit, n)
	}
}

// An edited is the effect of an edit.
type edited struct {
	text    string
	keys    []string // of the rows that are concerned
	column  string
	changed bool
}

// edit changes, removes or copies one row.
func (w *ward) edit(random *rand.Rand, table string, columns []string) edited {
	w.Helper()
	key := columns[0]
	var rows []string
	found, err := w.raw.QueryContext(w.Context(), fmt.Sprintf("select %s from %s order by 1", key, table))
	if err != nil {
		w.Fatal(err)
	}
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			w.Fatal(err)
		}
		rows = append(rows, name)
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		w.Fatal(err)
	}
	row := rows[random.IntN(len(rows))]
	switch random.IntN(8) {
	case 0:
		w.exec(fmt.Sprintf("delete from %s where %s = $1", table, key), row)
		return edited{table + " " + row + " removed", []string{row}, "", true}
	case 1:
		copied := fmt.Sprintf("copy-%d", random.IntN(1000))
		rest := strings.Join(columns[1:], ", ")
		w.exec(fmt.Sprintf("insert into %s (%s, %s) select cast($1 as text), %s from %s where %s = $2", table, key, rest, rest, table, key), copied, row)
		return edited{table + " " + row + " copied to " + copied, []string{copied}, "", true}
	}
	column := columns[random.IntN(len(columns))]
	var was, is any
	read := func(key string) (v any) {
		err := w.raw.QueryRowContext(w.Context(), fmt.Sprintf("select %s from %s where %s = $1", column, table, columns[0]), key).Scan(&v)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			w.Fatal(err)
		}
		if b, ok := v.([]byte); v == nil || ok && len(b) == 0 {
			return []byte{}
		}
		return v
	}
	was = read(row)
	is = w.other(random, was, read(rows[random.IntN(len(rows))]))
	if column == key {
		is = fmt.Sprintf("%v-%d", is, random.IntN(1000))
	}
	w.exec(fmt.Sprintf("update %s set %s = $1 where %s = $2", table, column, key), is, row)
	return edited{fmt.Sprintf("%s %s: %s from %v to %v", table, row, column, was, is), []string{row, fmt.Sprint(is)}, column, fmt.Sprint(was) != fmt.Sprint(is)}
}

// other returns another value of the same type: that of another row, an empty one, or one that is a little different.
func (w *ward) other(random *rand.Rand, was, neighbour any) any {
	way := random.IntN(3)
	if way == 0 {
		return neighbour
	}
	switch v := was.(type) {
	case int64:
		if way == 1 {
			return int64(0)
		}
		return v + int64(random.IntN(2_000_000)) - 1_000_000
	case []byte:
		if way == 1 || len(v) == 0 {
			return []byte{}
		}
		v = slices.Clone(v)
		v[random.IntN(len(v))] ^= 1
		return v
	case string:
		words := []string{"", "{}", "accepted", "redeemed", "declined", "alice", "bob", `{"untrusted":true}`, "not JSON"}
		return words[random.IntN(len(words))]
	}
	w.Fatalf("a value of type %T", was)
	return nil
}

func TestStateEditsSQLite(t *testing.T)   { testStateEdits(t, file(t), *stateEdits) }
func TestStateEditsPostgres(t *testing.T) { testStateEdits(t, startCluster(t).fresh(t), *stateEdits) }
