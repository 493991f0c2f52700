package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var logEdits = flag.Int("log.edits", 200, "how many edits of the log's tables and files TestLogEdits makes, one after the other, on each database")

var logSeed = flag.Uint64("log.seed", 1, "the seed of these edits")

// An editedLog is a log in a database that an attacker edits, with an anchor out of reach.
type editedLog struct {
	target string
	anchor string
	raw    *sql.DB
	random *rand.Rand
	base   string   // the content of the entries
	said   string   // by the last verification
	past   []string // SQLite: copies of the file from before
}

// logTables are the tables that the log is in, with their columns and the column that numbers their rows.
var logTables = []struct {
	name, key string
	columns   []string
}{
	{"entry", "seq", []string{"seq", "leaf", "salt", "time", "chain", "kind", "subject", "outcome", "body"}},
	{"node", "n", []string{"level", "n", "hash"}},
	{"chain", "next", []string{"name", "id", "next", "last"}},
	{"checkpoint", "size", []string{"size", "note"}},
	{"state", "size", []string{"size", "edge", "sealed", "ends"}},
	{"ending", "n", []string{"n", "body"}},
}

// newEdited returns a log of 300 entries under three checkpoints, and a sealed end that no checkpoint covers.
func newEdited(t *testing.T, target string, seed uint64) *editedLog {
	t.Helper()
	e := &editedLog{target: target, anchor: filepath.Join(t.TempDir(), "anchor"), random: rand.New(rand.NewPCG(seed, 1))}
	db, log := e.open(t, e.anchor)
	for i := range 6 {
		if i == 1 { // from the second time on that it is opened, the log proves the state
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db, log = e.open(t, e.anchor)
		}
		var entries []audit.Entry
		for j := range 50 {
			entries = append(entries, audit.Entry{
				Time: time.Unix(int64(1000*i+j+1), 0), Chain: fmt.Sprint("local/agent:", j%7), Kind: "decision", Subject: "mail/send_email",
				Outcome: "block", Body: fmt.Appendf(nil, `{"v":1,"n":%d}`, 50*i+j),
			})
		}
		if _, err := log.Storage().Append(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
		if db.Kind() == "sqlite" {
			copied := filepath.Join(t.TempDir(), "past.db")
			if err := db.Backup(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			e.past = append(e.past, copied)
		}
		if i < 5 && i%2 == 0 {
			if _, err := log.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e.connect(t)
	if result := e.verify(t); result != audit.OK {
		t.Fatalf("before any edit the log is %s: %s", result, e.said)
	}
	e.base = e.content(t)
	return e
}

func (e *editedLog) connect(t *testing.T) {
	t.Helper()
	driver, source := "sqlite", "file:"+e.target+"?_pragma=busy_timeout(10000)&_pragma=synchronous(off)"
	if strings.Contains(e.target, "://") {
		driver, source = "pgx", e.target
	}
	var err error
	if e.raw, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
}

// open opens the log as a weir does.
func (e *editedLog) open(t *testing.T, anchor string) (*sqlstore.DB, *audit.Log) {
	t.Helper()
	a, err := audit.OpenAnchor(anchor, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), e.target, &sqlstore.Options{Anchor: a})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db.Log(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return db, log
}

// verify returns the result of verifying the log under its anchor. A log that cannot be read is damaged.
func (e *editedLog) verify(t *testing.T) audit.Result {
	t.Helper()
	a, err := audit.ReadAnchor(e.anchor)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), e.target, &sqlstore.Options{ReadOnly: true})
	if err != nil {
		e.said = err.Error()
		return audit.Damaged
	}
	defer db.Close()
	r, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Anchor: a})
	if e.said = fmt.Sprint(r, err); err != nil {
		return audit.Damaged
	}
	err = db.Log().Snapshot(t.Context(), func(st audit.Store) error {
		state, err := replay.Verify(t.Context(), st.(replay.Kept), time.Now()) // finds entries that were erased without an event
		if err == nil && !state.OK() {
			err = audit.ErrDamaged
		}
		return err
	})
	if err != nil {
		return audit.Damaged
	}
	return r.Result()
}

// goOn has a weir start on the log, write to it and sign it, and returns whether it did.
func (e *editedLog) goOn(t *testing.T) bool {
	t.Helper()
	a, err := audit.OpenAnchor(e.anchor, "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	db, err := sqlstore.Open(t.Context(), e.target, &sqlstore.Options{Anchor: a})
	if err != nil {
		return false
	}
	defer db.Close()
	log, err := audit.Open(t.Context(), db.Log(), a)
	if err != nil {
		return false
	}
	_, appended := log.Storage().Append(t.Context(), []audit.Entry{{Time: time.Unix(9, 0), Chain: "local/agent:1", Kind: "decision", Body: []byte("{}")}})
	_, signed := log.Checkpoint(t.Context())
	return appended == nil && signed == nil
}

// content returns the content of the first 300 entries.
func (e *editedLog) content(t *testing.T) string {
	t.Helper()
	rows, err := e.raw.QueryContext(t.Context(), "select "+strings.Join(logTables[0].columns, ", ")+" from entry where seq < 300 order by seq")
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var b strings.Builder
	values := make([]any, len(logTables[0].columns))
	for i := range values {
		values[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err.Error()
		}
		for _, v := range values {
			fmt.Fprintf(&b, "%q ", *v.(*sql.RawBytes))
		}
	}
	return b.String()
}

// edit makes one edit of a table, and says which. An edit that the database refuses is none.
func (e *editedLog) edit(ctx context.Context) string {
	t := logTables[e.random.IntN(len(logTables))]
	column := t.columns[e.random.IntN(len(t.columns))]
	row := fmt.Sprintf("%s in (select %s from %s order by %s limit 1 offset %d)", t.key, t.key, t.name, t.key, e.random.IntN(300))
	if t.name != "entry" {
		row = strings.Replace(row, "order by "+t.key, "order by random()", 1)
		row = row[:strings.Index(row, " offset")] + ")"
	}
	at := e.random.IntN(301)
	texts := []string{
		fmt.Sprintf("update %s set %s = (select %s from %s order by random() limit 1) where %s", t.name, column, column, t.name, row),
		fmt.Sprintf("delete from %s where %s", t.name, row),
		fmt.Sprintf("delete from entry where seq >= %d", at),
		fmt.Sprintf("delete from %s", t.name),
		fmt.Sprintf("delete from checkpoint where size > %d", at),
		fmt.Sprintf("update state set size = %d", at),
		"update state set sealed = ''", "update state set ends = ''",
		fmt.Sprintf("update entry set salt = '', time = 0, chain = '', kind = '', subject = '', outcome = '', body = '' where seq = %d", at),
		fmt.Sprintf("insert into entry select %d, leaf, salt, time, chain, kind, subject, outcome, body from entry where seq = %d", 300+e.random.IntN(2), at),
		fmt.Sprintf("update entry set subject = 'web/post', outcome = 'allow' where seq >= %d", at),
		fmt.Sprintf("update %s set %s = %s where %s", t.name, column, e.value(column), row),
	}
	text := texts[e.random.IntN(len(texts))]
	if _, err := e.raw.ExecContext(ctx, text); err != nil {
		return ""
	}
	return text
}

// value returns a value for a column, as SQL has it.
func (e *editedLog) value(column string) string {
	switch column {
	case "seq", "time", "level", "n", "next", "size":
		return fmt.Sprint(e.random.Int64N(400) - 20)
	case "leaf", "salt", "body", "hash", "last", "note", "edge", "sealed", "ends":
		n := e.random.IntN(100)
		if strings.Contains(e.target, "://") {
			return fmt.Sprintf(`'\x%x'`, slices.Repeat([]byte{byte(n)}, n))
		}
		return fmt.Sprintf("x'%x'", slices.Repeat([]byte{byte(n)}, n))
	}
	return fmt.Sprintf("'%d'", e.random.IntN(100))
}

// check fails the test if an edit was without a report and had an effect, or if a weir that went on with it made it pass.
func (e *editedLog) check(t *testing.T, what string) {
	t.Helper()
	result, same := e.verify(t), e.content(t) == e.base
	if result == audit.OK && !same {
		t.Errorf("%s: it passes, and the entries are not what they were: %s", what, e.said)
	}
	went := e.goOn(t)
	again, same := e.verify(t), e.content(t) == e.base
	if again == audit.OK && !same {
		t.Errorf("%s: it passes after a weir went on (%v), and the entries are not what they were", what, went)
	}
}

// Whatever is edited in the tables and files of a log, before a weir runs on it or afterwards: it is reported, or the entries are what they
// were. A weir that runs on it in between does not make it pass.
func TestLogEdits(t *testing.T) {
	seed := *logSeed
	e := newEdited(t, file(t), seed)
	kept := snapshotFiles(t, e)
	for i := range *logEdits {
		what := ""
		for range 1 + e.random.IntN(3) {
			if e.random.IntN(3) > 0 {
				what += e.edit(t.Context()) + "; "
				continue
			}
			e.raw.Close()
			what += e.editFile(t) + "; "
			e.connect(t)
		}
		e.check(t, what)
		e.raw.Close()
		if t.Failed() {
			t.Fatalf("after %d edits, seed %d", i, seed)
		}
		kept.restore(t, e)
	}
}

// An attacker hides from a weir that its log proves the state, has it name blanked entries as erased, and puts the hidden ones back.
func TestErasuresAreNotTakenOverTwice(t *testing.T) {
	e := newEdited(t, file(t), 1)
	defer func() { e.raw.Close() }()
	exec := func(text string) {
		t.Helper()
		if _, err := e.raw.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	exec("update entry set outcome = 'hidden' where outcome = 'adopted'")
	exec("update entry set salt = '', time = 0, chain = '', kind = '', subject = '', outcome = '', body = '' where seq = 100")
	if !e.goOn(t) {
		return
	}
	exec("update entry set outcome = 'adopted' where outcome = 'hidden'")
	if result := e.verify(t); result != audit.Damaged {
		t.Errorf("the log is %s: %s", result, e.said)
	}
}

func TestPostgresLogEdits(t *testing.T) {
	c := startCluster(t, "fsync=off", "synchronous_commit=off") // no machine fails here
	seed := *logSeed
	e := newEdited(t, c.fresh(t), seed)
	defer func() { e.raw.Close() }()
	back := ""
	for _, table := range logTables {
		if _, err := e.raw.Exec("create table kept_" + table.name + " as select * from " + table.name); err != nil {
			t.Fatal(err)
		}
		back += "truncate " + table.name + "; insert into " + table.name + " select * from kept_" + table.name + "; "
	}
	anchor := filesOf(t, e.anchor)
	for i := range *logEdits {
		what := ""
		for range 1 + e.random.IntN(3) {
			what += e.edit(t.Context()) + "; "
		}
		e.check(t, what)
		if t.Failed() {
			t.Fatalf("after %d edits, seed %d", i, seed)
		}
		if _, err := e.raw.Exec(back); err != nil {
			t.Fatal(err)
		}
		putFiles(t, e.anchor, anchor)
	}
}

// editFile edits the file of the database, and says how.
func (e *editedLog) editFile(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(e.target)
	if err != nil {
		t.Fatal(err)
	}
	what := ""
	switch at := e.random.IntN(len(b)); e.random.IntN(5) {
	case 0:
		b, what = b[:at], fmt.Sprint("cut off at ", at)
	case 1:
		n := min(len(b)-at, 1+e.random.IntN(4096))
		clear(b[at : at+n])
		what = fmt.Sprintf("%d bytes zeroed at %d", n, at)
	case 2:
		b[at] ^= 1 << e.random.IntN(8)
		what = fmt.Sprint("a bit flipped at ", at)
	case 3:
		page := at / 4096 * 4096
		other := e.random.IntN(len(b)) / 4096 * 4096
		copy(b[page:min(page+4096, len(b))], b[other:min(other+4096, len(b))])
		what = fmt.Sprintf("page %d over page %d", other/4096, page/4096)
	default:
		n := e.random.IntN(len(e.past))
		if b, err = os.ReadFile(e.past[n]); err != nil {
			t.Fatal(err)
		}
		what = fmt.Sprint("put back to ", 50*(n+1))
	}
	if err := os.WriteFile(e.target, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return what
}

// files are the files of a directory, by name.
type files map[string][]byte

func filesOf(t *testing.T, dir string) files {
	t.Helper()
	all := files{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if all[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// putFiles makes the files those of the directory.
func putFiles(t *testing.T, dir string, all files) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, b := range all {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A snapshot is the database and its anchor as they were.
type snapshot struct{ store, anchor files }

func snapshotFiles(t *testing.T, e *editedLog) snapshot {
	t.Helper()
	if err := e.raw.Close(); err != nil {
		t.Fatal(err)
	}
	s := snapshot{filesOf(t, filepath.Dir(e.target)), filesOf(t, e.anchor)}
	e.connect(t)
	return s
}

func (s snapshot) restore(t *testing.T, e *editedLog) {
	t.Helper()
	putFiles(t, filepath.Dir(e.target), s.store)
	putFiles(t, e.anchor, s.anchor)
	e.connect(t)
}
