package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// After any operations on a store, in any order and by two processes, its state is the fold of its log.
func TestStateIsTheFoldOfTheLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		target := file(t)
		w := newWard(t, target)
		dbs := []*sqlstore.DB{w.db, open(t, target, &sqlstore.Options{Unsynced: true})}
		keys := []string{"a", "b", "c", "d", ""}
		resources := []string{"file:///x", "file:///x/y", "file:///z"}
		bindings := []string{"one", "two"}
		asked := 0
		pick := func(rt *rapid.T, words []string) string { return rapid.SampledFrom(words).Draw(rt, "name") }
		db := func(rt *rapid.T) *sqlstore.DB { return rapid.SampledFrom(dbs).Draw(rt, "process") }
		some := func(rt *rapid.T) label.Label {
			return label.Label{Untrusted: rapid.Bool().Draw(rt, "untrusted"), Attribution: label.SetOf(pick(rt, keys[:4]))}
		}
		// An operation may be refused; it is never damage.
		do := func(rt *rapid.T, err error) {
			if errors.Is(err, store.ErrState) {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"open": func(rt *rapid.T) {
				_, _, err := db(rt).Open(t.Context(), store.Ref{Key: pick(rt, keys[:4]), Parent: pick(rt, keys), Principal: "alice"}, noLimits)
				do(rt, err)
			},
			"join": func(rt *rapid.T) {
				_, _, err := db(rt).Join(t.Context(), pick(rt, keys[:4]), some(rt), noLimits)
				do(rt, err)
			},
			"count": func(rt *rapid.T) { do(rt, db(rt).Tally(t.Context(), pick(rt, keys[:4]))) },
			"lower": func(rt *rapid.T) {
				key := pick(rt, keys[:4])
				told := audit.Entry{Kind: string(record.Declassify), Body: fmt.Appendf(nil, `{"kind":"declassify","session":%q}`, key)}
				_, err := db(rt).LowerNoted(t.Context(), key, some(rt), told)
				do(rt, err)
			},
			"end": func(rt *rapid.T) {
				_, err := db(rt).End(t.Context(), pick(rt, keys[:4]))
				do(rt, err)
			},
			"expire": func(rt *rapid.T) {
				_, err := db(rt).Expire(t.Context(), time.Now().Add(time.Duration(rapid.IntRange(-1, 1).Draw(rt, "hours"))*time.Hour))
				do(rt, err)
			},
			"taint": func(rt *rapid.T) {
				_, err := db(rt).Taint(t.Context(), store.Taint{Resource: pick(rt, resources), Label: some(rt), Expires: time.Now().Add(time.Hour)}, noLimits)
				do(rt, err)
			},
			"clear": func(rt *rapid.T) {
				_, err := db(rt).Clear(t.Context(), pick(rt, resources))
				do(rt, err)
			},
			"ask": func(rt *rapid.T) {
				asked++
				do(rt, db(rt).Ask(t.Context(), store.Question{ID: fmt.Sprint(asked), Principal: "alice", Session: pick(rt, keys), Binding: pick(rt, bindings), Expires: time.Now().Add(time.Hour)}))
			},
			"answer": func(rt *rapid.T) {
				_, err := db(rt).Answer(t.Context(), fmt.Sprint(rapid.IntRange(0, asked).Draw(rt, "question")), "alice", store.Accepted)
				do(rt, err)
			},
			"redeem": func(rt *rapid.T) {
				_, err := db(rt).Redeem(t.Context(), pick(rt, bindings))
				do(rt, err)
			},
			"forget": func(rt *rapid.T) {
				_, err := db(rt).ForgetQuestions(t.Context(), "", []string{pick(rt, keys)})
				do(rt, err)
			},
			"read": func(rt *rapid.T) {
				_, err := db(rt).Get(t.Context(), pick(rt, keys[:4]))
				do(rt, err)
				_, err = db(rt).Tainted(t.Context(), pick(rt, resources), noLimits)
				do(rt, err)
				for _, err := range db(rt).Questions(t.Context(), store.QuestionQuery{Binding: pick(rt, bindings)}) {
					do(rt, err)
				}
			},
		})
		if report := w.report(); !report.OK() || report.Rows > 0 && !report.Proved {
			rt.Fatalf("%+v", report)
		}
	})
}

// BenchmarkFirstLoad reads a session for the first time in a process: of so many events, all in its chain, and with the one or so many rises
// in the chain that proves it.
func BenchmarkFirstLoad(b *testing.B) {
	for _, events := range []int{10, 1_000, 10_000} {
		for _, raised := range []bool{false, true} {
			b.Run(fmt.Sprintf("events=%d/raised=%v", events, raised), func(b *testing.B) {
				target := file(b)
				db := open(b, target, &sqlstore.Options{Unsynced: true})
				begin(b, db, "s")
				for i := range events / 10 {
					batch := make([]audit.Entry, 10)
					for j := range batch {
						batch[j] = audit.Entry{Chain: "s", Kind: "decision", Body: make([]byte, 500)}
					}
					var l label.Label
					if raised {
						l = uri("mcp://server/%d", i)
					}
					if _, _, err := db.JoinNoted(b.Context(), "s", l, noLimits, batch...); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					b.StopTimer()
					fresh, err := sqlstore.Open(b.Context(), target, nil)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := fresh.Get(b.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
						b.Fatal(err)
					}
					b.StartTimer()
					if _, err := fresh.Get(b.Context(), "s"); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					if err := fresh.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}
