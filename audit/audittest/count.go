package audittest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/audit"
)

// testCount holds storages that count to the promises of [audit.Counted].
func testCount(f *fixture) {
	if _, ok := f.Store.(audit.Counted); !ok {
		f.Skip("it does not count")
	}
	const n = 40
	f.append(0, n)
	for _, q := range []audit.Query{
		{}, {From: 7, To: 31}, {Chain: "session 1"}, {Chain: "session 1", Newest: true}, {Outcome: "block", Limit: 3}, {Kind: "label"},
		{Before: start.Add(10 * time.Second)},
	} {
		f.equal(fmt.Sprintf("%+v", q), countOf(q, n, 0), f.count(q))
	}
	if _, err := f.Erase(f.Context(), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, func(int64) audit.Entry { return audit.Entry{Kind: "erased"} }); err != nil {
		f.Fatal(err)
	}
	f.equal("after erasing", countOf(audit.Query{Kind: "decision"}, n, 10), f.count(audit.Query{Kind: "decision"}))
}

func (f *fixture) count(q audit.Query) []audit.Count {
	f.Helper()
	counts, err := f.Store.(audit.Counted).Count(f.Context(), q)
	if err != nil {
		f.Fatal(err)
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}

// countOf counts the entries from the number from up to but without n that the query selects.
func countOf(q audit.Query, n, from int64) (counts []audit.Count) {
	for i := from; i < n; i++ {
		if !selects(q, i) {
			continue
		}
		e := entry(int(i))
		at := slices.IndexFunc(counts, func(c audit.Count) bool { return c.Kind == e.Kind && c.Subject == e.Subject && c.Outcome == e.Outcome })
		if at < 0 {
			at = len(counts)
			counts = append(counts, audit.Count{Kind: e.Kind, Subject: e.Subject, Outcome: e.Outcome})
		}
		counts[at].N++
	}
	slices.SortFunc(counts, func(a, b audit.Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Outcome, b.Outcome))
	})
	if q.Limit > 0 {
		counts = counts[:min(q.Limit, len(counts))]
	}
	return counts
}
