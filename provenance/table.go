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
	if len(t.buckets) == 0 || t.used+len(places) > len(t.buckets)*slots/4 {
		t.grow()
	}
	for i := range places { // load the buckets that will be needed
		t.touched += t.bucketOf(places[i].hash).keys[0] & 1
	}
	for _, p := range places {
		t.put(p, kind)
	}
}

// rows are how many buckets a hash may have: a common word has several places of each kind.
const rows = 4

// A row is the buckets of a hash, each but the last of them full.
type row [rows]*bucket

// row returns the buckets of a hash, and how many slots they have.
func (t *table) row(hash uint32) (r row, n int) {
	for i := range rows { // by other bits of the hash each, so that two hashes seldom have more than one bucket in common
		r[i] = t.bucketOf(bits.RotateLeft32(hash, 7*i))
		if n += slots; r[i].places[slots-1] == 0 {
			break
		}
	}
	return r, n
}

// A slot is the place of an entry in a bucket.
type slot struct {
	bucket *bucket
	at     int
	place  uint32 // of the entry that is there
}

// noSlot comes after all slots.
var noSlot = slot{place: 1<<32 - 1}

// put makes an entry. The entries of a bucket are in its first slots, so the first free one ends the search.
func (t *table) put(p place, kind Kinds) {
	key, place := p.hash|uint32(kind&kindMask), p.at+1
	same, goes, first, second := 0, slot{}, noSlot, noSlot
search:
	for i := range rows {
		b := t.bucketOf(bits.RotateLeft32(p.hash, 7*i))
		for at, has := range &b.places {
			switch {
			case has == 0:
				goes = slot{b, at, 0}
				break search
			case b.keys[at] != key:
			case has == place:
				return
			default:
				same++
				if has < first.place {
					first, second = slot{b, at, has}, first
				} else if has < second.place {
					second = slot{b, at, has}
				}
			}
		}
	}
	switch {
	case same >= alike:
		goes = second // the oldest says who had it first
	case goes.bucket != nil:
		t.used++
	case (t.used > len(t.buckets) || len(t.buckets) < small) && t.grow():
		t.put(p, kind)
		return
	default:
		goes = t.oldest(p.hash)
		t.lost = true
		t.forgot = t.forgot || Kinds(goes.bucket.keys[goes.at]&kindMask)&Untrusted != 0
	}
	goes.bucket.keys[goes.at], goes.bucket.places[goes.at] = key, place
}

// oldest returns the slot with the oldest entry of the buckets of a hash, all of which are full.
func (t *table) oldest(hash uint32) slot {
	found := noSlot
	r, n := t.row(hash)
	for _, b := range r[:n/slots] {
		for at, has := range &b.places {
			if has < found.place {
				found = slot{b, at, has}
			}
		}
	}
	return found
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
		if last := size >= most || size >= small; t.refill(old, last) || last {
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
