package detect_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/detect"
)

// large returns a result of some chunks: stretches of one piece, or of different ones, in prose.
func large(r *rand.Rand, pieces []string) []byte {
	var text strings.Builder
	for size := 260<<10 + r.IntN(100<<10); text.Len() < size; {
		some, stretch := pieces[r.IntN(len(pieces))], 1+r.IntN(64<<10)
		if r.IntN(2) == 0 {
			stretch = 1
		}
		for end := text.Len() + stretch; text.Len() < end; {
			switch r.IntN(8) {
			case 0:
				fmt.Fprintf(&text, "user%d@corp%d.de, ", r.IntN(1000), r.IntN(50))
			case 1:
				some = pieces[r.IntN(len(pieces))]
			}
			text.WriteString(some)
		}
		text.WriteString(strings.Repeat("The quick brown fox said \"no\"\n", r.IntN(2000)))
	}
	doc, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.ToValidUTF8(text.String(), "?")}}})
	return doc
}

// A report of a large text is the same for one processor, for several, and in the middle of other scans.
func TestShared(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	scanners, honest, hostile := []*detect.Scanner{detect.New(), detect.Definitions()}, pieces(), []string(nil)
	for _, name := range slices.Sorted(maps.Keys(hostileTexts())) {
		hostile = append(hostile, string(hostileTexts()[name]))
	}
	scanners = append(scanners, detect.NewWith(detect.Options{Further: []detect.Search{func(text []byte) (found []detect.Finding) {
		for at := 0; at+5 < len(text); at += 9000 {
			found = append(found, detect.Finding{Kind: "further", Class: detect.Personal, Offset: at, Size: 5, ValueOffset: at, ValueSize: 5})
		}
		return found
	}}}))
	prose := strings.Repeat("The quick brown fox said \"no\"\n", 9000)
	for _, seed := range []uint64{0, 2, 14, 20, 23, 28} { // each has a chunk that comes out differently alone
		r := rand.New(rand.NewPCG(seed, 3))
		all := [][]string{honest, hostile, {honest[r.IntN(len(honest))]}, {hostile[r.IntN(len(hostile))]}}[seed/3%4]
		docs, s := [][]byte{large(r, all)}, scanners[seed%3]
		if seed == 0 {
			cut, _ := json.Marshal(prose + string(hostileTexts()["anchors"][:20<<10]))
			docs = append(docs, cut)
		}
		for _, doc := range docs {
			runtime.GOMAXPROCS(1)
			want := s.Scan(doc, detect.JSON, []byte("salt"))
			runtime.GOMAXPROCS(2 + r.IntN(3))
			if diff := cmp.Diff(want, s.Scan(doc, detect.JSON, []byte("salt")), cmp.AllowUnexported(detect.Finding{})); diff != "" {
				t.Errorf("seed %d: %s", seed, diff)
			}
		}
	}
}

// A search that panics in a large text panics where its caller can recover.
func TestSharedPanic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := detect.NewWith(detect.Options{Further: []detect.Search{func([]byte) []detect.Finding { panic("a mistake") }}})
	defer func() {
		if problem := recover(); problem != "a mistake" {
			t.Errorf("recovered %v", problem)
		}
	}()
	s.Scan(large(rand.New(rand.NewPCG(1, 2)), pieces()), detect.JSON, nil)
	t.Error("the panic is lost")
}
