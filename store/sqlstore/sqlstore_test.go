package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var noLimits store.Limits

func begin(tb testing.TB, db *sqlstore.DB, key string) {
	tb.Helper()
	if _, _, err := db.Open(tb.Context(), store.Ref{Key: key, Principal: "alice"}, noLimits); err != nil {
		tb.Fatal(err)
	}
}

func uri(format string, args ...any) label.Label {
	return label.Label{Attribution: label.SetOf(fmt.Sprintf(format, args...))}
}

func size(tb testing.TB, db *sqlstore.DB) int64 {
	tb.Helper()
	head, err := db.Log().Head(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return head.Size
}

// entries counts those of the log that are not of the state.
func entries(tb testing.TB, db *sqlstore.DB) (n int) {
	tb.Helper()
	for row, err := range db.Log().Rows(tb.Context(), audit.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		if row.Kind != string(record.StateRow) {
			n++
		}
	}
	return n
}

// verify checks the log, which nobody has to have signed.
func verify(tb testing.TB, db *sqlstore.DB) *audit.Report {
	tb.Helper()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		tb.Fatal(err)
	}
	r, err := audit.Verify(tb.Context(), db.Log(), audit.VerifyOptions{Key: key.Verifier()})
	if err != nil {
		tb.Fatal(err)
	}
	if !r.OK() {
		tb.Errorf("findings: %+v", r.Findings)
	}
	return r
}

func TestFileIsTheUsersOwn(t *testing.T) {
	path := file(t)
	db := open(t, path, nil)
	begin(t, db, "s")
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v; want 0700", info.Mode(), err)
	}
	other := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(t.Context(), other, nil); err == nil {
		t.Error("a file that others may read was opened")
	}
	if _, err := sqlstore.Open(t.Context(), filepath.Dir(path), nil); err == nil {
		t.Error("a directory was opened")
	}
}

func TestOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20f", "ä.db")
	begin(t, open(t, path, nil), "s")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// edit changes a database behind its back.
func edit(tb testing.TB, path string, statements ...string) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestOtherSchemasAreRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"a newer one":  `insert into schema (version, digest) values ((select max(version) + 1 from schema), 'x')`,
		"another one":  `update schema set digest = 'x' where version = 1`,
		"one with gap": `update schema set version = 70 where version = 2`,
	} {
		path := file(t)
		db, err := sqlstore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, path, statement)
		if _, err := sqlstore.Open(t.Context(), path, nil); !errors.Is(err, sqlstore.ErrSchema) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestProcessesStartAtOnce(t *testing.T) {
	path := file(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			db, err := sqlstore.Open(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			_, _, err = db.Open(t.Context(), store.Ref{Key: fmt.Sprint(i), Principal: "p"}, noLimits)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Several processes write to one database: a label is seen by all as soon as one has been told that it is kept, and the log has
// one order.
func testProcesses(t *testing.T, target string) {
	const processes, writers, joins = 3, 4, 10
	var dbs []*sqlstore.DB
	for range processes {
		dbs = append(dbs, open(t, target, nil))
	}
	begin(t, dbs[0], "s")
	var wg sync.WaitGroup
	for p, db := range dbs {
		for w := range writers {
			wg.Go(func() {
				for i := range joins {
					l := uri("mcp://%d/%d/%d", p, w, i)
					if _, _, err := db.JoinNoted(t.Context(), "s", l, noLimits, audit.Entry{Chain: "s", Subject: fmt.Sprint(l)}); err != nil {
						t.Error(err)
						return
					}
					for _, other := range dbs {
						if s, err := other.Get(t.Context(), "s"); err != nil || !s.Label.Covers(l) {
							t.Errorf("%v is missing: %v", l, err)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	verify(t, dbs[0])
	if n := entries(t, dbs[0]); n != processes*writers*joins {
		t.Errorf("%d entries", n)
	}
}

func TestSQLiteProcesses(t *testing.T)   { testProcesses(t, file(t)) }
func TestPostgresProcesses(t *testing.T) { testProcesses(t, startCluster(t).fresh(t)) }

func TestKeptAcrossRestarts(t *testing.T) {
	path := file(t)
	db, err := sqlstore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, db, "s")
	q := store.Question{ID: "q", Principal: "alice", Binding: "call", Expires: time.Now().Add(time.Hour)}
	_, err = db.Answer(t.Context(), "q", "alice", store.Accepted)
	if !errors.Is(err, store.ErrNoQuestion) {
		t.Error(err)
	}
	if err := db.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.JoinNoted(t.Context(), "s", uri("a"), noLimits, audit.Entry{Chain: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Defer(t.Context(), audit.Entry{Chain: "s"}), db.Tally(t.Context(), "s"), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := db.Defer(t.Context(), audit.Entry{}); !errors.Is(err, sqlstore.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	db = open(t, path, nil)
	s, err := db.Get(t.Context(), "s")
	if err != nil || !s.Label.Covers(uri("a")) || s.Calls != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := db.Answer(t.Context(), "q", "alice", store.Accepted); err != nil {
		t.Error(err)
	}
	if ok, err := db.Redeem(t.Context(), "call"); !ok || err != nil {
		t.Errorf("redeemed: %v, %v", ok, err)
	}
	verify(t, db)
	if n := entries(t, db); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestJoinNotedIsOneTransaction(t *testing.T) {
	db := open(t, file(t), nil)
	begin(t, db, "s")
	for _, bad := range []struct {
		key   string
		entry audit.Entry
		want  error
	}{
		{"unheard-of", audit.Entry{Chain: "s"}, store.ErrNotFound},
		{"s", audit.Entry{Chain: "\xff"}, audit.ErrInvalid},
	} {
		if _, _, err := db.JoinNoted(t.Context(), bad.key, uri("a"), noLimits, bad.entry); !errors.Is(err, bad.want) {
			t.Errorf("got error %v, want %v", err, bad.want)
		}
	}
	if s, err := db.Get(t.Context(), "s"); err != nil || !s.Label.IsZero() || entries(t, db) != 0 {
		t.Errorf("%+v, %v, and %d entries", s.Label, err, entries(t, db))
	}
	edit(t, pathOf(db), `alter table entry rename to gone`)
	if _, _, err := db.JoinNoted(t.Context(), "s", uri("a"), noLimits, audit.Entry{Chain: "s"}); err == nil {
		t.Error("an entry that was not written was acknowledged")
	}
	if s, err := db.Get(t.Context(), "s"); err != nil || !s.Label.IsZero() {
		t.Errorf("the label rose without its entry: %+v, %v", s.Label, err)
	}
}

// A session that is opened takes over its parent's label with the entries that tell of it, or is not opened.
func TestOpenNotedIsOneTransaction(t *testing.T) {
	db := open(t, file(t), nil)
	begin(t, db, "parent")
	if _, _, err := db.Join(t.Context(), "parent", uri("a"), noLimits); err != nil {
		t.Fatal(err)
	}
	s, err := db.Get(t.Context(), "parent")
	if err != nil {
		t.Fatal(err)
	}
	child := store.Ref{Key: "child", Principal: s.Principal, Parent: s.Key}
	refused := errors.New("refused")
	for _, bad := range []struct {
		entry audit.Entry
		err   error
		want  error
	}{
		{err: refused, want: refused},
		{entry: audit.Entry{Chain: "\xff"}, want: audit.ErrInvalid},
	} {
		note := func(store.Rise) (audit.Entry, error) { return bad.entry, bad.err }
		if _, _, err := db.OpenNoted(t.Context(), child, noLimits, note); !errors.Is(err, bad.want) {
			t.Errorf("got error %v, want %v", err, bad.want)
		}
		if s, err := db.Get(t.Context(), "child"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it was opened: %+v, %v", s, err)
		}
	}
	var told []string
	note := func(r store.Rise) (audit.Entry, error) {
		told = append(told, r.Key)
		return audit.Entry{Chain: r.Key}, nil
	}
	for range 2 { // the second time, nothing rises
		s, _, err := db.OpenNoted(t.Context(), child, noLimits, note)
		if err != nil || !s.Label.Covers(uri("a")) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	verify(t, db)
	if n := entries(t, db); n != 1 || len(told) != 1 || told[0] != "child" {
		t.Errorf("%d entries, told of %v", n, told)
	}
}

// One writer's error is its own, and one who leaves leaves no trace or all of it.
func TestWritersAreApart(t *testing.T) {
	db := open(t, file(t), nil)
	begin(t, db, "s")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			key := "s"
			if i%2 == 1 {
				key = "unheard-of"
			}
			_, _, err := db.Join(t.Context(), key, uri("%d", i), noLimits)
			if (i%2 == 1) != errors.Is(err, store.ErrNotFound) {
				t.Errorf("%d: %v", i, err)
			}
		})
		wg.Go(func() {
			if i == 20 {
				cancel()
			}
			_, _, err := db.Join(ctx, "s", uri("left %d", i), noLimits)
			s, getErr := db.Get(t.Context(), "s")
			if kept := s.Label.Covers(uri("left %d", i)); getErr != nil || kept != (err == nil) {
				t.Errorf("kept: %v, and error %v", kept, err)
			}
		})
	}
	wg.Wait()
	cancel()
}

func TestSessionsAreBounded(t *testing.T) {
	db := open(t, file(t), &sqlstore.Options{MaxSessions: 2})
	begin(t, db, "a")
	begin(t, db, "b")
	if _, _, err := db.Open(t.Context(), store.Ref{Key: "c", Principal: "p"}, noLimits); !errors.Is(err, store.ErrFull) {
		t.Errorf("got error %v", err)
	}
	if _, err := db.End(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	begin(t, db, "c")
}

const crashTarget = "WEIR_TEST_CRASH"

// TestMain plays the process that is killed, if asked to.
func TestMain(m *testing.M) {
	if target := os.Getenv(crashTarget); target != "" {
		crash(target)
		return
	}
	os.Exit(m.Run())
}

// crash writes until it is killed, and prints the acknowledged writes.
func crash(target string) {
	db, err := sqlstore.Open(context.Background(), target, nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	if _, _, err := db.Open(context.Background(), store.Ref{Key: "s", Principal: "alice"}, store.Limits{Attribution: 1 << 20}); err != nil {
		fmt.Println("error", err)
		return
	}
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d/%d/%d", os.Getpid(), w, i)
				_, _, err := db.JoinNoted(context.Background(), "s", uri("%s", name), store.Limits{Attribution: 1 << 20},
					audit.Entry{Chain: "s", Subject: name})
				if err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println(name)
				_ = db.Defer(context.Background(), audit.Entry{Chain: "reads"})
			}
		}()
	}
	select {}
}

// A process that is killed at any time leaves its acknowledged writes: the label, its entry, and a log that verifies.
func testCrash(t *testing.T, target string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for round := range 6 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), crashTarget+"="+target)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Fatal(lines.Text())
			}
			if n == 20+round*31 {
				_ = cmd.Process.Kill()
			}
			acknowledged = append(acknowledged, lines.Text())
		}
		_ = cmd.Wait()
	}
	db := open(t, target, nil)
	s, err := db.Get(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string]bool{}
	for row, err := range db.Log().Rows(t.Context(), audit.Query{Chain: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		logged[row.Subject] = true
	}
	for _, name := range acknowledged {
		if !s.Label.Covers(uri("%s", name)) || !logged[name] {
			t.Errorf("%s was acknowledged: label %v, entry %v", name, s.Label.Covers(uri("%s", name)), logged[name])
		}
	}
	if len(logged) != s.Label.Attribution.Len() {
		t.Errorf("%d labels and %d entries", s.Label.Attribution.Len(), len(logged))
	}
	verify(t, db)
}

func TestSQLiteCrash(t *testing.T)   { testCrash(t, file(t)) }
func TestPostgresCrash(t *testing.T) { testCrash(t, startCluster(t).fresh(t)) }

// The server ends without a word, again and again. Who got an answer can rely on it.
func TestPostgresRestarts(t *testing.T) {
	c := startCluster(t)
	db := open(t, c.fresh(t), nil)
	lim := store.Limits{Attribution: 1 << 20}
	begin(t, db, "s")
	done := make(chan struct{})
	kept := make([][]string, 4)
	var wg sync.WaitGroup
	for w := range kept {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprintf("%d/%d", w, i)
				if _, _, err := db.JoinNoted(t.Context(), "s", uri("%s", name), lim, audit.Entry{Chain: "s", Subject: name}); err == nil {
					kept[w] = append(kept[w], name)
				}
			}
		})
	}
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		c.stop(t)
		c.start(t)
	}
	time.Sleep(300 * time.Millisecond)
	close(done)
	wg.Wait()
	times := map[string]int{}
	for row, err := range db.Log().Rows(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		times[row.Subject]++
	}
	s, err := db.Get(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, names := range kept {
		for _, name := range names {
			if n++; times[name] != 1 || !s.Label.Attribution.Has(name) {
				t.Errorf("%s is in the log %d times", name, times[name])
			}
		}
	}
	t.Logf("%d labels", n)
	if n == 0 {
		t.Error("nothing was written")
	}
	verify(t, db)
}

// A server that is not there is an error, at once or soon.
func TestPostgresUnreachable(t *testing.T) {
	for _, target := range []string{"postgres://weir@/x?host=" + t.TempDir(), "postgres://%zz", "postgresql://127.0.0.1:1/x?connect_timeout=1"} {
		if _, err := sqlstore.Open(t.Context(), target, nil); err == nil {
			t.Errorf("%s was opened", target)
		}
	}
}

var paths sync.Map // of databases that tests look into

func pathOf(db *sqlstore.DB) string {
	path, _ := paths.Load(db)
	return path.(string)
}

func benchTargets(b *testing.B, run func(b *testing.B, db *sqlstore.DB)) {
	b.Run("sqlite", func(b *testing.B) { run(b, open(b, file(b), nil)) })
	if *postgresBin != "" {
		c := startCluster(b)
		b.Run("postgres", func(b *testing.B) { run(b, open(b, c.fresh(b), nil)) })
	}
}

func BenchmarkGet(b *testing.B) {
	benchTargets(b, func(b *testing.B, db *sqlstore.DB) {
		begin(b, db, "s")
		for b.Loop() {
			if _, err := db.Get(b.Context(), "s"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkJoinNoted writes a label that is already there and an entry, durably, from one caller and from sixteen.
func BenchmarkJoinNoted(b *testing.B) {
	body := make([]byte, 500)
	for _, callers := range []int{1, 16} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			benchTargets(b, func(b *testing.B, db *sqlstore.DB) {
				for caller := range callers {
					begin(b, db, fmt.Sprint("s", caller))
				}
				parallel(b, callers, b.N, func(caller, i int) error {
					key := fmt.Sprint("s", caller)
					_, _, err := db.JoinNoted(b.Context(), key, uri("%d", i%500), noLimits, audit.Entry{Chain: key, Kind: "label", Body: body})
					return err
				})
			})
		})
	}
}

// BenchmarkRawSync is the bound of the disk: as many callers share each sync.
func BenchmarkRawSync(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var mu sync.Mutex
			body := make([]byte, 1000)
			parallel(b, callers, b.N, func(int, int) error {
				mu.Lock()
				defer mu.Unlock()
				_, err := f.Write(body)
				return errors.Join(err, f.Sync())
			})
		})
	}
}

// parallel has callers do something n times together, each its share, and counts for all which time it is.
func parallel(b *testing.B, callers, n int, do func(caller, i int) error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	var next atomic.Int64
	for c := range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(c, int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkDefer(b *testing.B) {
	benchTargets(b, func(b *testing.B, db *sqlstore.DB) {
		e := audit.Entry{Chain: "s", Kind: "decision", Body: make([]byte, 500)}
		for b.Loop() {
			if err := db.Defer(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		if err := db.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}
