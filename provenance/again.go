package provenance

import (
	"crypto/sha256"
	"slices"
)

// An addition is a document on a shelf. From and to are where its text begins and ends, in bytes since the shelf was new.
type addition struct {
	source   Source
	sum      [sha256.Size]byte // of the whole document
	from, to int
}

// Additions are the newest documents of a shelf, the oldest first. Agents read files again and ask for the state of a
// thing until it changes: such a document says nothing that the shelf does not know, from the same source, and what
// came first counts. If it stands there once, more places of other texts are among the newest of a beginning.
type additions []addition

// Bounds of additions.
const (
	maxAdditions = 4
	additionSize = 80 // bytes of memory, without the URI
)

// holds reports whether a document that is to be added at its from stands on the shelf whole, which begins at base, and
// so near the end that its places still are among the newest: less text than it has itself came after it.
func (all additions) holds(d *addition, base int) bool {
	return slices.ContainsFunc(all, func(o addition) bool {
		return o.sum == d.sum && o.source == d.source && o.from >= base && d.from-o.to <= o.to-o.from
	})
}

// note adds a document, in the place of the oldest if there are many.
func (all *additions) note(d addition) {
	if len(*all) == maxAdditions {
		*all = slices.Delete(*all, 0, 1)
	}
	*all = append(*all, d)
}
