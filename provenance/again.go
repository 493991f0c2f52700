package provenance

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
)

// An addition is a document on a shelf. From and to are where its text begins and ends, in bytes since the shelf was
// new.
type addition struct {
	source   Source
	sum      sum // of the whole document
	from, to int
}

// Additions are the newest documents of a shelf, the oldest first. Agents read files again and ask for the state of a
// thing until it changes: such a document says nothing that the shelf does not know from the same source, and the
// text that came first counts. If it stands there once, more places of other texts are among the newest of a beginning.
type additions []addition

// Bounds of additions.
const (
	maxAdditions = 4
	additionSize = 64 // bytes of memory, without the URI
)

// A sum tells documents apart: GMAC under a key of the process, which takes a fifth of the time of SHA-256. For whoever
// does not know the key, two documents of up to 2^20 bytes have the same sum with a chance of 2^-112 (NIST SP 800-38D).
// No sum leaves the process, so one nonce serves all.
type sum [16]byte

// summer makes sums. It is nil where Go allows no nonce of one's own (GODEBUG=fips140=only).
var summer = sync.OnceValue(func() cipher.AEAD {
	key := make([]byte, 16)
	rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil
	}
	return gcm
})

func sumOf(doc []byte) (s sum) {
	gcm := summer()
	if gcm == nil {
		all := sha256.Sum256(doc)
		return sum(all[:len(s)])
	}
	gcm.Seal(s[:0], make([]byte, gcm.NonceSize()), nil, doc)
	return s
}

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
