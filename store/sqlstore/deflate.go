package sqlstore

import (
	"encoding/binary"
	"math/bits"
)

// A deflater writes short texts as raw DEFLATE (RFC 1951) over a dictionary of less than 32 KiB, in one block with the
// fixed code. Package compress/flate indexes the dictionary anew for each stream, which takes several times as long as
// such a text; here the index of the dictionary stays, and that of a text is apart. It must not be used concurrently.
type deflater struct {
	text  []byte // the dictionary, and the text after it
	dict  int    // how long the dictionary is
	older [1 << deflateHash]uint16
	newer [1 << deflateHash]uint16 // of the text
	chain [deflateFar]uint16       // of each place, the one before it with the same hash in the same index, plus 1; 0: none

	out  []byte
	held uint64 // bits that are not out yet, the first one lowest
	have uint   // how many
}

const (
	deflateHash = 12 // bits of a hash
	deflateMin  = 4  // the least length of a match
	deflateMost = 258
	deflateGood = 32 // a match of that length is taken without a look for a longer one
	deflateTry  = 48 // places that are looked at for a match, in each index
	deflateFar  = 1<<15 - deflateMost
)

func newDeflater(dict []byte) *deflater {
	d := &deflater{text: append([]byte(nil), dict...), dict: len(dict)}
	for at := 0; at+deflateMin <= len(dict); at++ {
		d.enter(&d.older, at)
	}
	return d
}

// fits reports whether the dictionary can be referred to from all of a text.
func (d *deflater) fits(n int) bool { return d.dict+n <= deflateFar }

func (d *deflater) hash(at int) uint32 {
	return binary.LittleEndian.Uint32(d.text[at:]) * 0x9E3779B1 >> (32 - deflateHash)
}

// enter puts a place into an index. Places come in order.
func (d *deflater) enter(index *[1 << deflateHash]uint16, at int) {
	head := &index[d.hash(at)]
	d.chain[at], *head = *head, uint16(at)+1
}

// match returns the longest match of the text at a place, of those that are looked at: the nearest one.
func (d *deflater) match(at int) (length, distance int) {
	rest := d.text[at:min(len(d.text), at+deflateMost)]
	if len(rest) < deflateMin {
		return 0, 0
	}
	h := d.hash(at)
	for _, next := range [...]uint16{d.newer[h], d.older[h]} {
		for tries := 0; next > 0 && tries < deflateTry && length < len(rest); tries++ {
			from := int(next) - 1
			next = d.chain[from]
			if length > 0 && d.text[from+length] != rest[length] {
				continue
			}
			if n := common(d.text[from:], rest); n >= deflateMin && n > length {
				length, distance = n, at-from
			}
		}
	}
	return length, distance
}

// common returns how many bytes two texts begin with alike. The first one is no shorter.
func common(a, b []byte) (n int) {
	for ; n+8 <= len(b); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// append appends the stream of a text that fits to b.
func (d *deflater) append(b, text []byte) []byte {
	d.out, d.held, d.have = b, 0, 0
	d.put(0b011, 3) // the last block, with the fixed code
	at := d.dict
	d.text = append(d.text, text...)
	length, distance := d.match(at)
	for at < len(d.text) {
		d.index(at)
		ahead, far := 0, 0
		if length < deflateGood && at+1 < len(d.text) {
			ahead, far = d.match(at + 1)
		}
		if length == 0 || ahead > length {
			d.literal(uint32(d.text[at]))
			at++
			length, distance = ahead, far
			continue
		}
		d.copy(length, distance)
		end := at + length
		for at++; at < end; at++ {
			d.index(at)
		}
		length, distance = d.match(at)
	}
	d.literal(256) // the end of the block
	d.put(0, (8-d.have%8)%8)
	for ; d.have > 0; d.have -= 8 {
		d.out = append(d.out, byte(d.held))
		d.held >>= 8
	}
	d.text = d.text[:d.dict]
	clear(d.newer[:])
	return d.out
}

func (d *deflater) index(at int) {
	if at+deflateMin <= len(d.text) {
		d.enter(&d.newer, at)
	}
}

// put writes at most 32 bits, the lowest first.
func (d *deflater) put(value uint32, n uint) {
	d.held |= uint64(value) << d.have
	if d.have += n; d.have >= 32 {
		d.out = binary.LittleEndian.AppendUint32(d.out, uint32(d.held))
		d.held >>= 32
		d.have -= 32
	}
}

// literal writes a byte, the end of the block or a length by the fixed code.
func (d *deflater) literal(symbol uint32) {
	c := fixedCode[symbol]
	d.put(uint32(c.bits), uint(c.n))
}

// fixedCode are the codes of bytes, the end of the block and lengths (RFC 1951, 3.2.6), the highest bit first.
var fixedCode = func() (codes [286]struct{ bits, n uint16 }) {
	for symbol := range uint32(len(codes)) {
		code, n := uint32(0), uint16(8)
		switch {
		case symbol < 144:
			code = 0x30 + symbol
		case symbol < 256:
			code, n = 0x190+symbol-144, 9
		case symbol < 280:
			code, n = symbol-256, 7
		default:
			code = 0xC0 + symbol - 280
		}
		codes[symbol].bits, codes[symbol].n = uint16(bits.Reverse32(code)>>(32-n)), n
	}
	return codes
}()

// copy writes a length and a distance (RFC 1951, 3.2.5).
func (d *deflater) copy(length, distance int) {
	switch symbol, extra, more := bucket(uint32(length-3), 2); {
	case length == deflateMost:
		d.literal(285)
	default:
		d.literal(257 + symbol)
		d.put(more, extra)
	}
	symbol, extra, more := bucket(uint32(distance-1), 1)
	d.put(bits.Reverse32(symbol)>>(32-5), 5)
	d.put(more, extra)
}

// bucket returns the symbol of a number among those that have 1<<step symbols for each number of extra bits, and its
// extra bits.
func bucket(n uint32, step uint) (symbol uint32, extra uint, more uint32) {
	if n < 2<<step {
		return n, 0, 0
	}
	extra = uint(bits.Len32(n)) - 1 - step
	return uint32(extra)<<step + n>>extra, extra, n & (1<<extra - 1)
}
