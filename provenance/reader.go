package provenance

import (
	"encoding/binary"
	"unicode/utf8"
)

// An entry says how text gets into the table.
type entry struct {
	base int   // the place of the beginning of the text
	kind Kinds // of its source
	last bool  // the text is at its end: every word of it is whole
}

// long is the most normalised bytes of a word between two entries.
const long = gram

// index puts the beginnings of words from the given one on into the table, and returns how many bytes are indexed. The
// rest begins a word that may go on.
func (t *table) index(text []byte, from int, e entry) int {
	r := reader{table: t, entry: e, n: gram, wordRaw: -1}
	defer r.flush()
	i := from
	for i < len(text) {
		switch c := text[i]; {
		case fold[c] > special:
			i = r.plain(text, i)
			continue
		case fold[c] == separates:
			r.finish()
			i++
			continue
		case !e.last && len(text)-i < longestReference: // an escape or a character may be cut
			return r.done(i) - from
		}
		g := next(text, i)
		switch {
		case g.skip:
		case g.r == 0:
			r.finish()
		default:
			r.glyph(i, g)
		}
		i += g.width
	}
	if e.last {
		r.finish()
		r.ripen() // the beginnings that less than eight bytes follow have entries by their words alone
		return len(text) - from
	}
	return r.done(i) - from
}

// A reader goes over text and puts the beginnings of words into a table. It sees the text through a window: the
// normalised bytes of the last words, behind eight bytes or more of those before them, or zeros.
type reader struct {
	table *table
	entry entry

	norm    [window]byte
	n       int // bytes in norm
	wordRaw int // where the word began in the text; -1 outside of words
	wordN   int // where it began in norm; below zero if that is gone
	stop    int // where the last entry begins in norm, as long as the word goes on

	waiting [window]beginning // of entries that are to be made, in their order
	waits   int               // how many

	batch [64]place // of entries to be made
	full  int       // how many of batch
}

// window is how many normalised bytes a reader sees at once.
const window = 512

// A beginning is where an entry will point to.
type beginning struct{ raw, n int }

// plain takes the letters and digits of ASCII that begin at i, as far as the window has room, and returns their end.
func (r *reader) plain(text []byte, i int) int {
	if r.n > window-2*gram {
		r.move()
	}
	if r.wordRaw < 0 {
		r.word(i)
	}
	first, n, most := r.n, r.n, min(len(text)-i, window-r.n)
	run := text[i : i+most]
	for _, c := range run {
		f := fold[c]
		if f <= special {
			break
		}
		r.norm[n&(window-1)] = f
		n++
	}
	r.n = n
	for at := max(r.stop+long, first); at < n; at += long {
		r.note(i+at-first, at)
	}
	return i + n - first
}

// glyph takes a character that begins at i.
func (r *reader) glyph(i int, g glyph) {
	if r.n > window-2*gram {
		r.move()
	}
	if g.alone {
		r.finish()
	}
	switch {
	case r.wordRaw < 0:
		r.word(i)
	case r.n-r.stop >= long:
		r.note(i, r.n)
	}
	r.n += utf8.EncodeRune(r.norm[r.n:], g.r)
	if g.alone {
		r.finish()
	}
}

// word begins a word at i.
func (r *reader) word(i int) {
	r.wordRaw, r.wordN = i, r.n
	r.note(i, r.n)
}

// note notes an entry that begins at i, at n in the window.
func (r *reader) note(i, n int) {
	r.stop = n
	r.waiting[r.waits] = beginning{i, n}
	r.waits++
}

// finish ends a word.
func (r *reader) finish() {
	if r.wordRaw < 0 {
		return
	}
	if n := r.n - r.wordN; n < gram && n >= shortestWord {
		r.put(hashWord(binary.BigEndian.Uint64(r.norm[r.n-gram:]), n), r.wordRaw)
	}
	r.wordRaw = -1
}

// ripen makes entries of the beginnings that have all their bytes.
func (r *reader) ripen() {
	for i := range r.waits {
		b := r.waiting[i]
		if b.n > r.n-gram {
			r.waits = copy(r.waiting[:], r.waiting[i:r.waits])
			return
		}
		r.put(hashGram(binary.BigEndian.Uint64(r.norm[b.n:])), b.raw)
	}
	r.waits = 0
}

// move makes room in the window.
func (r *reader) move() {
	r.ripen()
	gone := r.n - gram
	copy(r.norm[:], r.norm[gone:r.n])
	r.n, r.wordN, r.stop = gram, r.wordN-gone, r.stop-gone
	for i := range r.waiting[:r.waits] {
		r.waiting[i].n -= gone
	}
}

// done makes the entries that can be made, and returns up to where all beginnings are in the table.
func (r *reader) done(at int) int {
	r.ripen()
	if r.waits > 0 {
		at = min(at, r.waiting[0].raw)
	}
	if r.wordRaw >= 0 && r.n-r.wordN < gram {
		at = min(at, r.wordRaw)
	}
	return at
}

// A place is where an entry points to, in bytes since the shelf was new.
type place struct{ hash, at uint32 }

// put makes an entry for the text at raw. Entries are made in batches: the table is larger than a processor's cache,
// and the memory for many can be waited for at once.
func (r *reader) put(hash uint32, raw int) {
	r.batch[r.full] = place{hash, uint32(r.entry.base + raw)}
	if r.full++; r.full == len(r.batch) {
		r.flush()
	}
}

func (r *reader) flush() {
	r.table.take(r.batch[:r.full], r.entry.kind)
	r.full = 0
}
