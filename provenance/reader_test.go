package provenance

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// beginnings returns the entries that a text has by rule, as the hash and the place of each: eight normalised bytes
// from the beginning of each word on, and from each eighth character inside a long one, and words that are shorter.
func beginnings(text []byte) map[place]bool {
	all, f := map[place]bool{}, normal(text)
	for i, stop := 0, 0; i < len(f.norm); i++ {
		if f.begins[i] {
			if n := f.wordEnd(i) - i; n < gram && n >= shortestWord {
				all[place{hashWord(packed(f.norm[i:i+n]), n), uint32(f.raw[i])}] = true
			}
		} else if !utf8.RuneStart(f.norm[i]) || i-stop < long {
			continue
		}
		if stop = i; i+gram <= len(f.norm) {
			all[place{hashGram(packed(f.norm[i : i+gram])), uint32(f.raw[i])}] = true
		}
	}
	return all
}

// Property: a table gets the entries that a text has by rule, in any parts, but for those of
// beginnings of which there are more than a table keeps.
func TestEntriesOfText(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9]{1,30}`), rapid.SampledFrom([]string{
			" ", "\n", ", ", "a", "%20", "%C3%A9", "&auml;", "&", `\u0041`, `\n`, "\u200b", "é", "東京", "ไทย", "ａｂｃ", "--", "\x00", "\xff",
			strings.Repeat("long", 300), strings.Repeat("é", 300), strings.Repeat("a b ", 200), "𝒜",
		}))
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), ""))
		at, parts := table{most: 1 << 16}, 0
		for from, to := 0, 0; to < len(text); parts++ {
			to = rapid.OneOf(rapid.Just(len(text)), rapid.IntRange(to+1, len(text))).Draw(t, "to")
			from += at.index(text[:to], from, entry{0, Untrusted, to == len(text)})
		}
		want, times := beginnings(text), map[uint32]int{}
		for p := range want {
			times[p.hash]++
		}
		got, seen := map[place]bool{}, map[uint32]int{}
		for _, b := range at.buckets {
			for i, n := range b.places {
				if n > 0 {
					p := place{b.keys[i] &^ kindMask, n - 1}
					if seen[p.hash]++; !want[p] && parts == 1 || got[p] { // the rest of a word that is cut counts as a word too
						t.Fatalf("%q: an entry at %d too many", text, p.at)
					}
					got[p] = true
				}
			}
		}
		for p := range want {
			if times[p.hash] <= alike && !got[p] || seen[p.hash] < min(times[p.hash], alike) {
				t.Fatalf("%q: no entry at %d", text, p.at)
			}
		}
	})
}

// Property: of entries with one beginning a table keeps the oldest and the newest.
func TestEntriesThatAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := table{most: 1 << 10}
		hashes := rapid.SliceOfN(rapid.Uint64Range(0, 30), 1, 80).Draw(t, "hashes")
		want := map[uint32][]int{}
		for i, n := range hashes {
			h := hashGram(n)
			at.take([]place{{h, uint32(i)}}, Untrusted)
			if want[h] = append(want[h], i); len(want[h]) > alike {
				want[h] = append(want[h][:1], want[h][2:]...)
			}
		}
		for h, places := range want {
			spots := at.find(h, nil)
			if len(spots) != len(places) {
				t.Fatalf("%v: %d entries of %d, want %v", hashes, len(spots), h, places)
			}
			for _, s := range spots {
				ok := false
				for _, p := range places {
					ok = ok || p == s.at
				}
				if !ok {
					t.Fatalf("%v: an entry at %d of %d, want %v", hashes, s.at, h, places)
				}
			}
		}
	})
}
