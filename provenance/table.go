package provenance

import (
	"math/bits"
	"slices"
)

const (
	gram         = 8       // normalised bytes of an entry
	shortestWord = 2       // normalised bytes of a word that has an entry
	slots        = 8       // entries of a bucket
	alike        = 4       // entries of one beginning and one kind
	bucketSize   = 64      // bytes: a line of the cache
	fewest       = 16      // buckets of a new table
	small        = 1 << 10 // buckets of a table that grows rather than forget, however few entries it has
)

// A bucket holds entries: a key is 28 bits of a hash and four bits of kinds, a place is one more than the place in the
// shelf, so that zero is no entry.
type bucket struct {
	keys   [slots]uint32
	places [slots]uint32
}

// A table finds the places where words begin. It grows to the most buckets that it may have, and then forgets the
// oldest entry of a full bucket. The zero table with most set is ready to use.
type table struct {
	buckets []bucket
	most    int
	used    int
	lost    bool
	forgot  bool // an entry of untrusted content was lost

	touched uint32 // makes the reading of memory ahead of its use count
}

const (
	kindBits = 4
	kindMask = 1<<kindBits - 1 // User, Trusted, Private, Untrusted
)

// mix spreads the bits of x (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// hashGram hashes eight normalised bytes.
func hashGram(last uint64) uint32 { return uint32(mix(last)>>32) &^ kindMask }

// hashWord hashes the last n of eight normalised bytes, as a word of its own.
func hashWord(last uint64, n int) uint32 {
	return uint32(mix(last&(1<<(8*uint(n))-1)^uint64(n)<<56)>>32) &^ kindMask
}

// bucketOf returns the bucket of a hash.
func (t *table) bucketOf(hash uint32) *bucket {
	return &t.buckets[int(hash>>kindBits)&(len(t.buckets)-1)]
}

// take makes entries of one kind, the oldest first.
func (t *table) take(places []place, kind Kinds) {
	t.reserve(len(places))
	for i := range places { // load the buckets that will be needed
		t.touched += t.bucketOf(places[i].hash).keys[0] & 1
	}
	for _, p := range places {
		b, key := t.bucketOf(p.hash), p.hash|uint32(kind&kindMask)
		if n, has := b.look(key); has == 0 && n < slots { // most are new, in a bucket with room
			b.keys[n], b.places[n] = key, p.at+1
			t.used++
		} else {
			t.put(p, kind)
		}
	}
}

// reserve grows the table, as far as it may, until so many entries more leave half of it free.
func (t *table) reserve(more int) {
	for len(t.buckets) == 0 || t.used+more > len(t.buckets)*slots/2 {
		if !t.grow() {
			return
		}
	}
}

// look returns how many entries a bucket has, and a bit for each of them that has the key. It takes no branch: where a
// search ends nobody can foretell, so a processor that tries to loses more time than all of this takes.
func (b *bucket) look(key uint32) (n int, has uint) {
	for at := range slots {
		n += one(b.places[at] != 0)
		has |= uint(one(b.keys[at] == key)) << at
	}
	return n, has
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// rows are how many buckets a hash may have: a common word has several places of each kind.
const rows = 4

// A row is the buckets of a hash, each but the last of them full.
type row [rows]*bucket

// spread are the numbers by which a hash has buckets after its first, odd ones without a pattern: so that of two hashes
// with one bucket in common the others are seldom the same, and that all buckets take part.
var spread = [rows]uint32{1: 0x9e3779b1, 2: 0x85ebca77, 3: 0xc2b2ae3d}

// further returns the i-th bucket of a hash, from 1 on: by the upper bits of a product (Knuth, volume 3, 6.4).
func (t *table) further(hash uint32, i int) *bucket {
	return &t.buckets[hash>>kindBits*spread[i]>>bits.LeadingZeros32(uint32(len(t.buckets)-1))]
}

// row returns the buckets of a hash, and how many slots they have.
func (t *table) row(hash uint32) (r row, n int) {
	for i := range rows {
		if r[i] = t.bucketOf(hash); i > 0 {
			r[i] = t.further(hash, i)
		}
		if n += slots; r[i].places[slots-1] == 0 {
			break
		}
	}
	return r, n
}

// put makes an entry. The entries of a bucket are in its first slots, so the first free one ends the search.
func (t *table) put(p place, kind Kinds) {
	key, place := p.hash|uint32(kind&kindMask), p.at+1
	var r row
	same, first, second := 0, uint64(none), uint64(none) // the oldest with the key, as a place and a slot of the row
	for i := range rows {
		if r[i] = t.bucketOf(p.hash); i > 0 {
			if r[i] = t.further(p.hash, i); slices.Contains(r[:i], r[i]) { // its entries count once
				continue
			}
		}
		n, has := r[i].look(key)
		for ; has != 0; has &= has - 1 {
			at := bits.TrailingZeros(has)
			if r[i].places[at] == place {
				return
			}
			other := uint64(r[i].places[at])<<32 | uint64(i*slots+at)
			first, second = min(first, other), min(second, max(first, other))
			same++
		}
		if n == slots {
			continue
		}
		if same < alike {
			t.used++
			r[i].keys[n], r[i].places[n] = key, place
			return
		}
		break
	}
	at := uint32(second) // the oldest says who had it first
	if same < alike {
		if t.wants(len(t.buckets)) && t.grow() {
			t.put(p, kind)
			return
		}
		at = r.oldest()
		t.lost = true
		t.forgot = t.forgot || Kinds(r[at/slots].keys[at%slots]&kindMask)&Untrusted != 0
	}
	r[at/slots].keys[at%slots], r[at/slots].places[at%slots] = key, place
}

// wants reports whether a table of so many buckets is to grow rather than to forget: a text that is built to have few
// beginnings in the same buckets gets no more memory by that.
func (t *table) wants(buckets int) bool { return buckets < small || t.used > buckets/4 }

// none comes after all slots.
const none = 1<<64 - 1

// oldest returns the slot with the oldest entry of a row whose buckets are full.
func (r *row) oldest() uint32 {
	found := uint64(none)
	for i, b := range r {
		for at, has := range b.places {
			found = min(found, uint64(has)<<32|uint64(i*slots+at))
		}
	}
	return uint32(found)
}

// grow doubles the table, and again where a bucket would be too full, as far as it may, and reports whether it did.
func (t *table) grow() bool {
	most := 1 << (bits.Len(uint(max(t.most, fewest))) - 1)
	if len(t.buckets) >= most {
		return false
	}
	old := t.buckets
	for size := max(2*len(old), fewest); ; size *= 2 {
		t.buckets = make([]bucket, size)
		if last := size >= most || !t.wants(size); t.refill(old, last) || last {
			return true
		}
	}
}

// refill puts the entries of other buckets into the table's, and reports whether there was room for all of them. If
// not, those are lost, if that is to be.
func (t *table) refill(old []bucket, lose bool) bool {
	for i := range old {
		for k, place := range old[i].places {
			key := old[i].keys[k]
			if place == 0 {
				continue
			}
			r, n := t.row(key &^ kindMask)
			if r[n/slots-1].add(key, place) {
				continue
			}
			if !lose {
				return false
			}
			t.lost = true
			t.forgot = t.forgot || Kinds(key&kindMask)&Untrusted != 0
		}
	}
	return true
}

// add puts an entry into a free slot, if there is one.
func (b *bucket) add(key, place uint32) bool {
	for free := range slots {
		if b.places[free] == 0 {
			b.keys[free], b.places[free] = key, place
			return true
		}
	}
	return false
}

// A spot is where a piece may begin.
type spot struct {
	at   int  // in bytes since the shelf was new
	late bool // untrusted content had this beginning before, and so often that not all of its places are known
}

// An origin is where untrusted content had a beginning first, and how many of the places are known.
type origin struct{ n, first int }

// find appends the places of the bucket's entries with the hash.
func (b *bucket) find(hash uint32, spots []spot, theirs *[2]origin) []spot {
	for i, key := range b.keys {
		if key&^kindMask != hash || b.places[i] == 0 {
			continue
		}
		at := int(b.places[i]) - 1
		spots = append(spots, spot{at: at})
		if kind := Kinds(key & kindMask); kind&Untrusted != 0 {
			o := &theirs[min(kind&Private, 1)]
			if o.n++; o.n == 1 || at < o.first {
				o.first = at
			}
		}
	}
	return spots
}

// find appends the places of entries with the hash.
func (t *table) find(hash uint32, spots []spot) []spot {
	if len(t.buckets) == 0 {
		return spots
	}
	from := len(spots)
	var theirs [2]origin // by whether it is private
	r, n := t.row(hash)
	for i := range n / slots {
		if !slices.Contains(r[:i], r[i]) {
			spots = r[i].find(hash, spots, &theirs)
		}
	}
	for i := range spots[from:] {
		for _, o := range theirs {
			spots[from+i].late = spots[from+i].late || (o.n >= alike && spots[from+i].at > o.first)
		}
	}
	return spots
}
