package audit

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// filled returns a log of n entries in a few chains, with a checkpoint over each of the sizes.
func filled(tb testing.TB, n int, checkpoints ...int) (*Log, *Memory) {
	tb.Helper()
	key, err := NewKey("example.com/weir")
	if err != nil {
		tb.Fatal(err)
	}
	m := NewMemory()
	l, err := Open(tb.Context(), m, NewAnchor(key))
	if err != nil {
		tb.Fatal(err)
	}
	entries := make([]Entry, 0, n)
	done := 0
	for _, size := range append(checkpoints, n) {
		entries = entries[:0]
		for i := done; i < size; i++ {
			entries = append(entries, Entry{
				Time: start.Add(time.Duration(i) * time.Microsecond), Chain: fmt.Sprint("s", i%7), Kind: "decision",
				Subject: "mail/send_email", Outcome: "block", Body: fmt.Appendf(nil, `{"n":%d}`, i),
			})
		}
		if _, err := m.Append(tb.Context(), entries); err != nil {
			tb.Fatal(err)
		}
		done = size
		if size < n || slices.Contains(checkpoints, size) {
			if _, err := l.Checkpoint(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return l, m
}

// copyOf returns a log that can be changed without changing m.
func copyOf(m *Memory) *Memory {
	c := m.clone()
	for i := range c.rows {
		r := &c.rows[i]
		r.Leaf, r.Salt, r.Body = slices.Clone(r.Leaf), slices.Clone(r.Salt), slices.Clone(r.Body)
	}
	for i := range c.checkpoints {
		c.checkpoints[i].Note = slices.Clone(c.checkpoints[i].Note)
	}
	return c
}

func report(tb testing.TB, l *Log, st Store) *Report {
	tb.Helper()
	r, err := Verify(context.Background(), st, VerifyOptions{Key: l.Key().Verifier()})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// found fails the test unless the log is reported, with a finding at an entry from first to last.
func found(tb testing.TB, r *Report, what string, first, last int64) {
	tb.Helper()
	for _, f := range r.Findings {
		if f.Entry >= first && f.Entry <= last {
			return
		}
	}
	tb.Errorf("%s: not found between %d and %d: %+v", what, first, last, r.Findings)
}

func flip(b []byte, bit int) { b[bit/8] ^= 1 << (bit % 8) }

func flipped(s string, bit int) string {
	b := []byte(s)
	flip(b, bit)
	return string(b)
}

// Each bit of each part of a row, wherever it is in the log.
func TestVerifyFindsEachChangedBitOfARow(t *testing.T) {
	l, m := filled(t, 40, 20, 40)
	for _, seq := range []int64{0, 20, 39} {
		original := m.rows[seq]
		parts := map[string]struct {
			bits   int
			change func(r *Row, bit int)
		}{
			"leaf":    {len(original.Leaf) * 8, func(r *Row, i int) { flip(r.Leaf, i) }},
			"salt":    {len(original.Salt) * 8, func(r *Row, i int) { flip(r.Salt, i) }},
			"body":    {len(original.Body) * 8, func(r *Row, i int) { flip(r.Body, i) }},
			"chain":   {len(original.Chain) * 8, func(r *Row, i int) { r.Chain = flipped(r.Chain, i) }},
			"kind":    {len(original.Kind) * 8, func(r *Row, i int) { r.Kind = flipped(r.Kind, i) }},
			"subject": {len(original.Subject) * 8, func(r *Row, i int) { r.Subject = flipped(r.Subject, i) }},
			"outcome": {len(original.Outcome) * 8, func(r *Row, i int) { r.Outcome = flipped(r.Outcome, i) }},
			"time":    {50, func(r *Row, i int) { r.Time = time.UnixMicro(r.Time.UnixMicro() ^ 1<<i).UTC() }},
		}
		for name, part := range parts {
			for bit := range part.bits {
				r := original
				r.Leaf, r.Salt, r.Body = slices.Clone(r.Leaf), slices.Clone(r.Salt), slices.Clone(r.Body)
				part.change(&r, bit)
				m.rows[seq] = r
				found(t, report(t, l, m), fmt.Sprintf("bit %d of the %s of entry %d", bit, name, seq), seq, seq)
			}
		}
		m.rows[seq] = original
	}
	if r := report(t, l, m); !r.OK() {
		t.Errorf("afterwards: %+v", r.Findings)
	}
}

// An erased row keeps its leaf alone: a change of the leaf shows in its chain or in the tree.
func TestVerifyFindsEachChangedBitOfAnErasedRow(t *testing.T) {
	l, m := filled(t, 40, 40)
	n, err := m.Erase(t.Context(), []int64{30, 31, 32, 33, 34, 35, 36, 37, 38, 39}, func(int64) Entry { return Entry{Kind: "erasure"} })
	if err != nil || n != 10 {
		t.Fatal(n, err)
	}
	for seq := 2; seq < len(m.rows); seq += 13 {
		for bit := range leafSize * 8 {
			flip(m.rows[seq].Leaf, bit)
			if r := report(t, l, m); r.OK() {
				t.Errorf("bit %d of the leaf of entry %d was not found", bit, seq)
			}
			flip(m.rows[seq].Leaf, bit)
		}
	}
}

func TestVerifyFindsEachChangedBitBeside(t *testing.T) {
	l, m := filled(t, 260, 100, 259)
	missed := func(what string) {
		t.Helper()
		if report(t, l, m).OK() {
			t.Errorf("%s was not found", what)
		}
	}
	for i := range m.checkpoints {
		for bit := range len(m.checkpoints[i].Note) * 8 {
			flip(m.checkpoints[i].Note, bit)
			missed(fmt.Sprintf("bit %d of checkpoint %d", bit, i))
			flip(m.checkpoints[i].Note, bit)
		}
	}
	for _, bit := range []int{0, 1, 77, 255} {
		flip(m.nodes[1][0].Hash[:], bit)
		missed("a bit of a node")
		flip(m.nodes[1][0].Hash[:], bit)
		for i := range m.head.Edge {
			flip(m.head.Edge[i][:], bit)
			missed("a bit of the head")
			flip(m.head.Edge[i][:], bit)
		}
		for _, link := range m.links {
			flip(link.Last[:], bit)
			missed("a bit of the end of a chain")
			flip(link.Last[:], bit)
			flip(link.ID[:], bit/2)
			missed("a bit of the id of a chain")
			flip(link.ID[:], bit/2)
			name := link.Name
			link.Name = flipped(name, bit%16)
			missed("a bit of the name of a chain")
			link.Name = name
			link.Next ^= 1 << (bit % 60)
			missed("a bit of the length of a chain")
			link.Next ^= 1 << (bit % 60)
		}
	}
	if r := report(t, l, m); !r.OK() {
		t.Errorf("afterwards: %+v", r.Findings)
	}
}

func TestVerifyFindsWhatWasMoved(t *testing.T) {
	l, original := filled(t, 60, 30, 60)
	for i := range int64(60) {
		m := copyOf(original)
		m.rows = slices.Delete(m.rows, int(i), int(i)+1)
		found(t, report(t, l, m), fmt.Sprint("removing ", i), i, i)

		m = copyOf(original)
		for j := range m.rows[i:] {
			m.rows[int(i)+j].Seq--
		}
		m.rows = slices.Delete(m.rows, max(int(i)-1, 0), max(int(i), 1))
		if report(t, l, m).OK() {
			t.Errorf("removing before %d, and closing the gap, was not found", i)
		}

		m = copyOf(original)
		m.rows = slices.Insert(m.rows, int(i), m.rows[i])
		found(t, report(t, l, m), fmt.Sprint("adding ", i), i, i+1)

		for j := i % 5; j < i; j += 5 {
			m = copyOf(original)
			m.rows[i], m.rows[j] = m.rows[j], m.rows[i]
			m.rows[i].Seq, m.rows[j].Seq = i, j
			r := report(t, l, m)
			found(t, r, fmt.Sprint("exchanging ", j, " and ", i), j, j)
			found(t, r, fmt.Sprint("exchanging ", j, " and ", i), i, i)
		}
	}
}

// Whoever cuts the log off and makes everything fit has the last checkpoint against them.
func TestVerifyFindsTruncation(t *testing.T) {
	l, original := filled(t, 50, 10, 48)
	for size := range 50 {
		m := copyOf(original)
		m.rows = m.rows[:size]
		found(t, report(t, l, m), fmt.Sprint("cut off after ", size), int64(size), int64(size))

		forged, other := filled(t, size)
		other.checkpoints = slices.Clone(original.checkpoints)
		r := report(t, l, other)
		if size < 48 && r.OK() {
			t.Errorf("a log of %d entries under the checkpoint over 48 was not found", size)
		}
		if _, err := forged.Checkpoint(t.Context()); err == nil && size > 0 {
			t.Errorf("a log of %d entries under a foreign checkpoint was signed", size)
		}
	}
}

// Whoever rewrites the log from some entry on, all of it, so that it fits itself, has the next checkpoint against them.
func TestVerifyFindsRewriting(t *testing.T) {
	l, original := filled(t, 50, 20, 30, 48)
	for from := range 48 {
		m := copyOf(original)
		entries := make([]Entry, 50)
		for i, r := range m.rows {
			entries[i] = r.Entry
		}
		entries[from].Body = []byte("nothing happened")
		rewritten := NewMemory()
		rewritten.links = m.links
		for _, link := range m.links {
			link.Next, link.Last = 0, [32]byte{}
		}
		if _, err := rewritten.Append(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
		for i := range from {
			rewritten.rows[i] = m.rows[i]
		}
		rewritten.checkpoints = m.checkpoints
		// Its chain shows it at once, where another entry of that chain follows; the checkpoint at the latest.
		first := int64(0)
		for _, size := range []int64{20, 30} {
			if int64(from) >= size {
				first = size
			}
		}
		found(t, report(t, l, rewritten), fmt.Sprint("rewriting from ", from), first, int64(from)+7)
	}
}

func TestVerifyFindsChangesInALargeLog(t *testing.T) {
	const n = 100_000
	l, m := filled(t, n, 1000, 50_000, n-10)
	if r := report(t, l, m); !r.OK() || r.Size != n || r.Signed != n-10 {
		t.Fatalf("%+v", r)
	}
	for range 3 {
		seq, bit := rand.Int64N(n), rand.IntN(leafSize*8)
		flip(m.rows[seq].Leaf, bit)
		found(t, report(t, l, m), fmt.Sprintf("bit %d of leaf %d", bit, seq), seq, seq)
		flip(m.rows[seq].Leaf, bit)
	}
}

func TestVerifyBoundsFindings(t *testing.T) {
	l, m := filled(t, 300, 300)
	for i := range m.rows {
		m.rows[i].Body = []byte("x")
	}
	r := report(t, l, m)
	if len(r.Findings) != maxFindings || r.More != 200 || !strings.Contains(r.Findings[0].What, "digest") {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
}

func TestProofsOfOthersAreRefused(t *testing.T) {
	l, _ := filled(t, 300)
	good, err := l.Prove(t.Context(), 123)
	if err != nil {
		t.Fatal(err)
	}
	key := l.Key().Verifier()
	if err := good.Check(key); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *Proof){
		"number": func(p *Proof) { p.Seq++ },
		"leaf":   func(p *Proof) { flip(p.Leaf, 700) },
		"leaf's number": func(p *Proof) {
			binary.BigEndian.PutUint64(p.Leaf[1:], 122)
			p.Seq = 122
		},
		"path":       func(p *Proof) { flip(p.Path[3][:], 9) },
		"short path": func(p *Proof) { p.Path = p.Path[:len(p.Path)-1] },
		"checkpoint": func(p *Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "300", "301", 1) },
	} {
		p := *good
		p.Leaf, p.Path = slices.Clone(p.Leaf), slices.Clone(p.Path)
		change(&p)
		if p.Check(key) == nil {
			t.Errorf("a proof with another %s was accepted", name)
		}
	}
	other, err := NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	if good.Check(other.Verifier()) == nil || good.Check("nonsense") == nil {
		t.Error("a proof under another key was accepted")
	}
}

func FuzzParseLeaf(f *testing.F) {
	leaf := Leaf{Seq: 5, Pos: 3}
	f.Add(leaf.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLeaf(b)
		if err == nil && !slices.Equal(l.Append(nil), b) {
			t.Errorf("%x is read as %+v", b, l)
		}
	})
}

func FuzzParseBundle(f *testing.F) {
	leaf := Leaf{Seq: 5, Pos: 3}
	b := leaf.Append([]byte{0, leafSize})
	f.Add(append(b, b...))
	f.Add([]byte{0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		leaves, err := ParseBundle(b)
		if err == nil && len(leaves)*(2+leafSize) != len(b) {
			t.Errorf("%d leaves in %d bytes", len(leaves), len(b))
		}
	})
}

func FuzzStatement(f *testing.F) {
	f.Add("example.com/weir\n3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("o\n0\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nweir-key-from a\nweir-key-to b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStatement(text)
		if err != nil {
			return
		}
		if again, err := parseStatement(s.text()); err != nil || *again != *s {
			t.Errorf("%q is read as %+v, and that as %+v, %v", text, s, again, err)
		}
	})
}

func FuzzMakeHead(f *testing.F) {
	f.Add(int64(3), make([]byte, 64))
	f.Fuzz(func(t *testing.T, size int64, edge []byte) {
		h, err := MakeHead(size, edge)
		if err == nil && (h.Size != size || !slices.Equal(h.EdgeBytes(), edge)) {
			t.Errorf("%d, %x is read as %+v", size, edge, h)
		}
	})
}
