// Package audittest is the acceptance test of [audit.Store]: an implementation that passes it can keep a log.
//
//	func TestStorage(t *testing.T) {
//		audittest.Run(t, open)
//	}
//
// It holds a storage to the promises in package audit: order, durability as far as the interface shows it, searching,
// erasing, signing, and concurrent use, for which it should run under the race detector.
package audittest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/audit"
)

// New makes an empty storage and closes it when the test ends. It is called many times.
type New func(t *testing.T) audit.Store

// Run tests the storages that open makes, as subtests of t.
func Run(t *testing.T, open New) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"empty", testEmpty},
		{"append", testAppend},
		{"invalid entries", testInvalid},
		{"search", testSearch},
		{"count", testCount},
		{"tree", testTree},
		{"sign", testSign},
		{"seal", testSeal},
		{"erase", testErase},
		{"asides", testAsides},
		{"concurrent", testConcurrent},
		{"rotate", testRotate},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, open)) })
	}
	t.Run("random histories", func(t *testing.T) { testHistories(t, open) })
}

type fixture struct {
	*testing.T
	audit.Store
	log *audit.Log
}

func newFixture(t *testing.T, open New) *fixture {
	t.Helper()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	st := open(t)
	log, err := audit.Open(t.Context(), st, audit.NewAnchor(key))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, st, log}
}

var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// entry returns the i-th of a sequence of different entries.
func entry(i int) audit.Entry {
	return audit.Entry{
		Time: start.Add(time.Duration(i) * time.Second), Chain: fmt.Sprint("session ", i%3), Kind: "decision",
		Subject: fmt.Sprint("tool ", i%5), Outcome: []string{"", "block"}[i%2], Body: fmt.Appendf(nil, `{"n":%d,"bytes":"%c"}`, i, 0),
	}
}

func (f *fixture) append(from, to int) {
	f.Helper()
	var entries []audit.Entry
	for i := from; i < to; i++ {
		entries = append(entries, entry(i))
	}
	first, err := f.Append(f.Context(), entries)
	if err != nil || first != int64(from) {
		f.Fatalf("appending: %d, %v; want %d", first, err, from)
	}
}

func (f *fixture) rows(q audit.Query) []audit.Row {
	f.Helper()
	var rows []audit.Row
	for row, err := range f.Rows(f.Context(), q) {
		if err != nil {
			f.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// verify returns the report on the log, which has to be without findings.
func (f *fixture) verify() *audit.Report {
	f.Helper()
	r, err := audit.Verify(f.Context(), f.Store, audit.VerifyOptions{Key: f.log.Key().Verifier()})
	if err != nil {
		f.Fatal(err)
	}
	if !r.OK() {
		f.Fatalf("findings: %+v", r.Findings)
	}
	return r
}

func (f *fixture) equal(what string, want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func testEmpty(f *fixture) {
	head, err := f.Head(f.Context())
	f.equal("error", nil, err)
	f.equal("size", int64(0), head.Size)
	f.equal("rows", 0, len(f.rows(audit.Query{})))
	note, err := f.log.Checkpoint(f.Context())
	f.equal("error", nil, err)
	f.equal("checkpoint", 0, len(note))
	f.equal("size", int64(0), f.verify().Size)
}

func testAppend(f *fixture) {
	f.append(0, 1)
	f.append(1, 10)
	rows := f.rows(audit.Query{})
	for i, row := range rows {
		f.equal("number", int64(i), row.Seq)
		f.equal("entry", entry(i), row.Entry)
		if _, err := row.Check(); err != nil {
			f.Error(err)
		}
	}
	f.equal("rows", 10, len(rows))
	report := f.verify()
	f.equal("size", int64(10), report.Size)
	f.equal("chains", 3, report.Chains)
}

func testInvalid(f *fixture) {
	f.append(0, 2)
	before, err := f.Head(f.Context())
	f.equal("error", nil, err)
	for _, bad := range []audit.Entry{
		{Chain: "\xff"}, {Kind: "a\x00"}, {Subject: string(make([]byte, audit.MaxWord+1))}, {Body: make([]byte, audit.MaxBody+1)},
	} {
		if _, err := f.Append(f.Context(), []audit.Entry{entry(2), bad}); !errors.Is(err, audit.ErrInvalid) {
			f.Errorf("got error %v", err)
		}
	}
	after, err := f.Head(f.Context())
	f.equal("error", nil, err)
	f.equal("head", before, after)
	f.append(2, 4)
	f.verify()
}

func testSearch(f *fixture) {
	const n = 40
	f.append(0, n)
	for _, q := range []audit.Query{
		{}, {From: 7}, {To: 5}, {From: 3, To: 9}, {Chain: "session 1"}, {Subject: "tool 2"}, {Outcome: "block"}, {Kind: "label"},
		{Kind: "decision", Chain: "session 2", Newest: true, Limit: 3}, {Before: start.Add(10 * time.Second)}, {Limit: 4},
		{Newest: true}, {Chain: "session 0", Subject: "tool 0", Outcome: "block", From: 1, To: 35},
	} {
		var want, got []int64
		for i := range int64(n) {
			if q.Newest {
				i = n - 1 - i
			}
			if selects(q, i) && (q.Limit == 0 || len(want) < q.Limit) {
				want = append(want, i)
			}
		}
		for _, row := range f.rows(q) {
			got = append(got, row.Seq)
		}
		f.equal(fmt.Sprintf("%+v", q), want, got)
	}
}

func selects(q audit.Query, i int64) bool {
	e := entry(int(i))
	return i >= q.From && (q.To == 0 || i < q.To) && (q.Before.IsZero() || e.Time.Before(q.Before)) &&
		(q.Chain == "" || q.Chain == e.Chain) && (q.Kind == "" || q.Kind == e.Kind) &&
		(q.Subject == "" || q.Subject == e.Subject) && (q.Outcome == "" || q.Outcome == e.Outcome)
}

func testTree(f *fixture) {
	const n = 600
	f.append(0, 255)
	f.append(255, 257)
	f.append(257, n)
	for _, seq := range []int64{0, 1, 255, 256, 511, 512, n - 1} {
		proof, err := f.log.Prove(f.Context(), seq)
		if err != nil {
			f.Fatal(err)
		}
		f.equal("error", nil, proof.Check(f.log.Key().Verifier()))
	}
	if _, err := f.log.Prove(f.Context(), n); !errors.Is(err, audit.ErrRange) {
		f.Errorf("proving a missing entry: %v", err)
	}
	nodes, err := f.Nodes(f.Context(), 1, 0, 100)
	f.equal("error", nil, err)
	f.equal("nodes", 2, len(nodes))
	nodes, err = f.Nodes(f.Context(), 1, 1, 2)
	f.equal("error", nil, err)
	f.equal("nodes", 1, len(nodes))
	f.verify()
}

func testSign(f *fixture) {
	var notes [][]byte
	for i := range 3 {
		f.append(i*10, i*10+10)
		note, err := f.log.Checkpoint(f.Context())
		f.equal("error", nil, err)
		again, err := f.log.Checkpoint(f.Context())
		f.equal("error", nil, err)
		f.equal("the same again", string(note), string(again))
		notes = append(notes, note)
	}
	var sizes []int64
	for c, err := range f.Checkpoints(f.Context(), 20) {
		f.equal("error", nil, err)
		sizes = append(sizes, c.Size)
	}
	f.equal("sizes", []int64{20, 30}, sizes)
	for _, note := range notes {
		f.equal("error", nil, audit.Extends(f.Context(), f.Store, note, f.log.Key().Verifier()))
	}
	report := f.verify()
	f.equal("signed", int64(30), report.Signed)
	f.equal("checkpoints", 3, report.Checkpoints)
	late := audit.Checkpoint{Size: 30, Note: []byte("x")}
	f.equal("one that comes after another", true, errors.Is(f.AddCheckpoint(f.Context(), late, audit.Checkpoint{Size: 20, Note: notes[1]}), audit.ErrConflict))
	f.equal("one that knows of no other", true, errors.Is(f.AddCheckpoint(f.Context(), late, audit.Checkpoint{}), audit.ErrConflict))
	f.equal("one that knows the last", nil, f.AddCheckpoint(f.Context(), audit.Checkpoint{Size: 30, Note: notes[2]}, audit.Checkpoint{Size: 30, Note: notes[2]}))
}

// Each head is sealed under its anchor, and is not extended under another one or under none.
func testSeal(f *fixture) {
	f.append(0, 7)
	head, err := f.Head(f.Context())
	f.equal("error", nil, err)
	f.equal("seal", f.log.Anchor().Seal(head), head.Seal)
	key, err := audit.NewKey(f.log.Key().Origin())
	f.equal("error", nil, err)
	for anchor, want := range map[*audit.Anchor]error{audit.NewAnchor(key): audit.ErrDamaged, nil: audit.ErrSealed} {
		f.SealWith(anchor)
		if _, err := f.Append(f.Context(), []audit.Entry{entry(7)}); !errors.Is(err, want) {
			f.Errorf("extended with %v", err)
		}
	}
	f.SealWith(f.log.Anchor())
	f.append(7, 8)
	report, err := audit.Verify(f.Context(), f.Store, audit.VerifyOptions{Anchor: f.log.Anchor()})
	f.equal("error", nil, err)
	f.equal("result", audit.OK, report.Result())
	f.equal("sealed", true, report.Sealed)
}

// numbers returns the numbers of the rows that a query selects.
func (f *fixture) numbers(q audit.Query) (seqs []int64) {
	f.Helper()
	for _, r := range f.rows(q) {
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

func testErase(f *fixture) {
	f.append(0, 30)
	told := func(n int64) audit.Entry { return audit.Entry{Kind: "erasure", Outcome: fmt.Sprint(n)} }
	erase := func(want int64, seqs []int64, note func(int64) audit.Entry) {
		f.Helper()
		n, err := f.Erase(f.Context(), seqs, note)
		f.equal("error", nil, err)
		f.equal("erased", want, n)
	}
	first := f.numbers(audit.Query{Chain: "session 1"})
	erase(10, first, told)
	f.equal("rows of that chain", 0, len(f.rows(audit.Query{Chain: "session 1"})))
	erase(0, append(first, -1, 1000), told)
	early := f.numbers(audit.Query{Since: start.Add(2 * time.Second), Before: start.Add(6 * time.Second)})
	erase(int64(len(early)), append(early, early...), told)
	f.equal("early rows", 0, len(f.rows(audit.Query{Since: start.Add(2 * time.Second), Before: start.Add(6 * time.Second)})))
	report := f.verify()
	f.equal("size", int64(32), report.Size)
	f.equal("erased", int64(10+len(early)), report.Erased)
	for l, err := range f.Links(f.Context()) {
		f.equal("error", nil, err)
		f.equal("a name that is gone", false, l.Name == "session 1")
	}
	f.append(32, 40) // the chain begins anew
	f.equal("chains", 5, f.verify().Chains)
}

func testAsides(f *fixture) {
	var entries []audit.Entry
	for i := range 100 {
		e := entry(i)
		if i%2 == 0 {
			e.Aside = []byte(fmt.Sprint("beside ", i))
		}
		entries = append(entries, e)
	}
	_, err := f.Append(f.Context(), entries)
	f.equal("error", nil, err)
	count := func(before time.Time) (n int) {
		last := int64(-1)
		for seq, err := range f.Asides(f.Context(), before) {
			f.equal("error", nil, err)
			f.equal("ascending and even", true, seq > last && seq%2 == 0)
			last = seq
			n++
		}
		return n
	}
	f.equal("all", 50, count(time.Time{}))
	f.equal("early ones", 5, count(entries[10].Time))
	body, err := f.Aside(f.Context(), 4)
	f.equal("error", nil, err)
	f.equal("beside entry 4", "beside 4", string(body))
	body, err = f.Aside(f.Context(), 5)
	f.equal("error", nil, err)
	f.equal("beside entry 5", 0, len(body))
	n, err := f.RemoveAsides(f.Context(), []int64{4, 4, 5, 6, 1000})
	f.equal("error", nil, err)
	f.equal("removed", int64(2), n)
	n, err = f.Erase(f.Context(), []int64{8, 9}, func(int64) audit.Entry { return audit.Entry{Kind: "erasure"} })
	f.equal("error", nil, err)
	f.equal("erased", int64(2), n)
	for _, seq := range []int64{4, 6, 8} {
		body, err := f.Aside(f.Context(), seq)
		f.equal("error", nil, err)
		f.equal("the removed body", 0, len(body))
	}
	f.equal("left", 47, count(time.Time{}))
	f.equal("erased entries", int64(2), f.verify().Erased)
}

func testConcurrent(f *fixture) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				first, err := f.Append(f.Context(), []audit.Entry{entry(w), {Chain: "own", Subject: fmt.Sprint(w, "/", i)}})
				if err != nil {
					f.Error(err)
					return
				}
				for row, err := range f.Rows(f.Context(), audit.Query{From: first + 1, To: first + 2}) {
					if err != nil || row.Subject != fmt.Sprint(w, "/", i) {
						f.Errorf("%d of %d is %q, %v", i, w, row.Subject, err)
					}
				}
				if _, err := f.log.Checkpoint(f.Context()); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f.equal("size", int64(2*writers*each), f.verify().Size)
}

func testRotate(f *fixture) {
	first := f.log.Key().Verifier()
	f.append(0, 5)
	before, err := f.log.Checkpoint(f.Context())
	f.equal("error", nil, err)
	for range 2 {
		f.equal("error", nil, f.log.Rotate(f.Context(), start, nil))
	}
	f.equal("error", nil, audit.Extends(f.Context(), f.Store, before, first))
	f.append(7, 10)
	if _, err := f.log.Checkpoint(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.equal("checkpoints", 4, f.verify().Checkpoints)
	report, err := audit.Verify(f.Context(), f.Store, audit.VerifyOptions{Key: first})
	f.equal("error", nil, err)
	f.equal("with the first key", true, report.OK())
	other, err := audit.NewKey(f.log.Key().Origin())
	f.equal("error", nil, err)
	report, err = audit.Verify(f.Context(), f.Store, audit.VerifyOptions{Key: other.Verifier()})
	f.equal("error", nil, err)
	f.equal("with another key", false, report.OK())
	if _, err := audit.Open(f.Context(), f.Store, audit.NewAnchor(other)); !errors.Is(err, audit.ErrKey) {
		f.Errorf("opening with another key: %v", err)
	}
}

// Entries appended in any pieces are read back and verify, and every old checkpoint is extended.
func testHistories(t *testing.T, open New) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t, open)
		var want []audit.Entry
		var notes [][]byte
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			var entries []audit.Entry
			for range rapid.IntRange(0, 90).Draw(rt, "entries") {
				e := entry(len(want) + len(entries))
				e.Chain = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "chain")
				e.Body = rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(rt, "body")
				entries = append(entries, e)
			}
			if _, err := f.Append(t.Context(), entries); err != nil {
				rt.Fatal(err)
			}
			want = append(want, entries...)
			if note, err := f.log.Checkpoint(t.Context()); err != nil {
				rt.Fatal(err)
			} else if note != nil {
				notes = append(notes, note)
			}
		}
		var got []audit.Entry
		for _, row := range f.rows(audit.Query{}) {
			got = append(got, row.Entry)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		for _, note := range notes {
			if err := audit.Extends(t.Context(), f.Store, note, f.log.Key().Verifier()); err != nil {
				rt.Fatal(err)
			}
		}
		f.verify()
	})
}
