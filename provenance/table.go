package provenance

import "math/bits"

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

// A table finds the places where words begin. It grows to the most buckets that it may have, and then forgets: of what
// falls into one bucket, the oldest. The zero table with most set is ready to use.
type table struct {
	buckets []bucket
	most    int
	used    int
	lost    bool
	forgot  bool // an entry of strangers' text is among what was lost

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
	for i := range places { // touch what will be needed
		t.touched += t.bucketOf(places[i].hash).keys[0] & 1
	}
	for _, p := range places {
		t.put(p, kind)
	}
}

// put makes an entry.
func (t *table) put(p place, kind Kinds) {
	key, at := p.hash|uint32(kind&kindMask), p.at+1
	b := t.bucketOf(p.hash)
	same, first, second, oldest := 0, -1, -1, 0
	for i := range slots {
		if b.places[i] < b.places[oldest] {
			oldest = i
		}
		if b.keys[i] == key && b.places[i] != 0 {
			if b.places[i] == at {
				return
			}
			same++
			switch {
			case first < 0 || b.places[i] < b.places[first]:
				first, second = i, first
			case second < 0 || b.places[i] < b.places[second]:
				second = i
			}
		}
	}
	switch {
	case same >= alike:
		oldest = second // the oldest says who had it first
	case b.places[oldest] == 0:
		t.used++
	case (t.used > len(t.buckets) || len(t.buckets) < small) && t.grow():
		t.put(p, kind)
		return
	default:
		t.lost = true
		t.forgot = t.forgot || Kinds(b.keys[oldest]&kindMask)&Untrusted != 0
	}
	b.keys[oldest], b.places[oldest] = key, at
}

// grow doubles the table, as far as it may, and reports whether it did. A bucket that was full may be so again.
func (t *table) grow() bool {
	most := 1 << (bits.Len(uint(max(t.most, fewest))) - 1)
	if len(t.buckets) >= most {
		return false
	}
	old := t.buckets
	t.buckets = make([]bucket, max(2*len(old), fewest))
	for i := range old {
		for k, place := range old[i].places {
			if place == 0 {
				continue
			}
			b := t.bucketOf(old[i].keys[k])
			for free := range slots {
				if b.places[free] == 0 {
					b.keys[free], b.places[free] = old[i].keys[k], place
					break
				}
			}
		}
	}
	return true
}

// A spot is where a piece may begin.
type spot struct {
	at   int  // in bytes since the shelf was new
	late bool // strangers had this beginning before, and so often that not all of their places are known
}

// find appends the places of entries with the hash.
func (t *table) find(hash uint32, spots []spot) []spot {
	if len(t.buckets) == 0 {
		return spots
	}
	b, from := t.bucketOf(hash), len(spots)
	var theirs [2]struct{ n, first int } // of strangers, by whether it is private
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
	for i := range spots[from:] {
		for _, o := range theirs {
			spots[from+i].late = spots[from+i].late || (o.n >= alike && spots[from+i].at > o.first)
		}
	}
	return spots
}
