package provenance_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/provenance"
)

// prose returns about n bytes of text of words from a vocabulary of 20,000, with a number now and then.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		word := r.IntN(20000)
		fmt.Fprintf(&b, "%c%c%s ", 'a'+word%26, 'a'+word/26%26, strings.Repeat(string(rune('a'+word/676%26)), 1+word%7))
		if r.IntN(20) == 0 {
			fmt.Fprintf(&b, "%d. ", r.IntN(1_000_000))
		}
	}
	return b.String()
}

// BenchmarkTrace traces the eight arguments of a call in sessions of different ages.
func BenchmarkTrace(b *testing.B) {
	for _, results := range []int{10, 1000, 10_000} {
		r := rand.New(rand.NewPCG(1, 2))
		x := provenance.New(provenance.Options{})
		x.AddUser(userWords)
		last := ""
		for i := range results {
			last = prose(r, 2000)
			x.Add(provenance.Source{URI: fmt.Sprintf("mcp://s/%d", i), Kinds: provenance.Untrusted}, last)
		}
		arguments := []string{
			"janeLong@google.com", "Dinner at the usual place", last[100:300], "2026-11-21", "4711",
			"https://shop.example/item?id=17", "Nothing that anyone has said before", "en-GB",
		}
		b.Run(fmt.Sprint(results), func(b *testing.B) {
			b.ReportMetric(float64(x.Size())/(1<<20), "MiB")
			b.ReportAllocs()
			for b.Loop() {
				for _, a := range arguments {
					x.Trace(a)
				}
			}
		})
	}
}

// BenchmarkAdd takes in results, each of other text, in a session of many and in one that is new.
func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{2 << 10, 100 << 10} {
		docs := make([][]byte, (4<<20)/size)
		for i := range docs {
			docs[i] = []byte(`{"content":[{"type":"text","text":"` + prose(rand.New(rand.NewPCG(3, uint64(i))), size) + `"}]}`)
		}
		for name, session := range map[string]int{"many": len(docs), "new": 1} {
			b.Run(fmt.Sprint(size, "/", name), func(b *testing.B) {
				b.SetBytes(int64(size))
				x, n := provenance.New(provenance.Options{}), 0
				for b.Loop() {
					if n%session == 0 {
						x = provenance.New(provenance.Options{})
					}
					x.AddJSON(page, docs[n%len(docs)])
					n++
				}
			})
		}
	}
}
