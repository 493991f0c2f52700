package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Listed begins the names of the chains that [Ends] lists in order, so that it proves of a range of them that none is
// missing.
const Listed = "state:taint/"

// ListedStart stands for the place before the first of the listed chains.
const ListedStart = "state:taint"

// Ends commit to the ends of all open chains by one hash, which the seal of a [Head] covers: a chain is open unless its
// last entry was erased. So the end of a chain can be proved, and that there is none, by some nodes of a tree and
// without the log.
//
// It is a map of keys to values, 32 bytes each. The end of a chain has the key SHA-256("weir chain 1\n" name) and the
// value SHA-256("weir end 1\n" id next last name), with next in 8 bytes, big endian. A chain whose name begins with
// [Listed] has the name of the next one too: the key SHA-256("weir listed 1\n" name) and the value SHA-256("weir next
// 1\n" next name). The name before the first is "state:taint", that after the last is empty.
//
// The tree has 4 levels and 16 children to a node. The first 12 bits of a key name its leaf node, which holds its keys
// with their values, by key. The other nodes hold, after 2 bytes with a bit for each child, the hashes of the children
// that are not empty. The hash of a node is SHA-256("weir ends 1\n" number content): the root is number 1, and the
// children of number n are 16n to 16n+15. That of the root is the hash of the map; that of an empty map is zero.
//
// Ends are for one goroutine.
type Ends struct {
	root  []byte
	cache *EndCache
	read  map[int64][]byte // as they were read: nobody has checked them
	own   map[int64][]byte // as they are now
	dirty map[int64]bool   // of these, the ones that changed
}

// An EndNode is a node of the tree of [Ends], but for the root.
type EndNode struct {
	N    int64
	Body []byte // empty: the node is not there
}

const (
	endFan    = 16
	endLevels = 3 // below the root
	endItem   = 2 * tlog.HashSize
)

// NewEnds returns the map with that root, as [Ends.RootNode] returns it. The cache may be nil.
func NewEnds(root []byte, cache *EndCache) *Ends {
	return &Ends{root: root, cache: cache, read: map[int64][]byte{}, own: map[int64][]byte{}, dirty: map[int64]bool{}}
}

// RootNode returns the root, to be kept beside the head.
func (e *Ends) RootNode() []byte { return e.root }

// Hash returns the hash of the map.
func (e *Ends) Hash() tlog.Hash { return endHash(1, e.root) }

func endHash(n int64, body []byte) tlog.Hash {
	if len(body) == 0 {
		return tlog.Hash{}
	}
	b := make([]byte, 0, 20+len(body))
	b = binary.BigEndian.AppendUint64(append(b, "weir ends 1\n"...), uint64(n))
	return sha256.Sum256(append(b, body...))
}

func endKey(domain, name string) tlog.Hash {
	return sha256.Sum256([]byte("weir " + domain + " 1\n" + name))
}

func (l *Link) endValue() tlog.Hash {
	b := append([]byte("weir end 1\n"), l.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(l.Next))
	return sha256.Sum256(append(append(b, l.Last[:]...), l.Name...))
}

// place returns the numbers of the nodes on the way from the root to the leaf of a key, without the root.
func endPlace(key tlog.Hash) (ns [endLevels]int64) {
	n := int64(1)
	for level := range ns {
		nibble := key[level/2] >> 4
		if level%2 == 1 {
			nibble = key[level/2] & 15
		}
		n = n*endFan + int64(nibble)
		ns[level] = n
	}
	return ns
}

// endKeys returns the keys that have to do with a chain.
func endKeys(name string) []tlog.Hash {
	if strings.HasPrefix(name, Listed) || name == ListedStart {
		return []tlog.Hash{endKey("chain", name), endKey("listed", name)}
	}
	return []tlog.Hash{endKey("chain", name)}
}

// Missing returns the numbers of the nodes that [Ends.Add] has to be given before the map can be asked for these
// chains.
func (e *Ends) Missing(names ...string) []int64 {
	missing := map[int64]bool{}
	for _, name := range names {
		for _, key := range endKeys(name) {
			e.missing(key, missing)
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

func (e *Ends) missing(key tlog.Hash, missing map[int64]bool) {
	place := endPlace(key)
	body := e.root
	for level, n := range place {
		want := endChild(body, n%endFan)
		if want == (tlog.Hash{}) {
			return
		}
		var err error
		if body, err = e.node(n, want); err != nil {
			for _, n := range place[level:] {
				if _, there := e.read[n]; !there {
					missing[n] = true
				}
			}
			return
		}
	}
}

// Add adds nodes as they are kept. Queries of the map check them.
func (e *Ends) Add(nodes ...EndNode) {
	for _, n := range nodes {
		e.read[n.N] = n.Body
	}
}

// node returns a node that has the hash.
func (e *Ends) node(n int64, want tlog.Hash) ([]byte, error) {
	if body, ok := e.own[n]; ok {
		return body, nil
	}
	if body, ok := e.cache.get(n, want); ok {
		e.own[n] = body
		return body, nil
	}
	body := e.read[n]
	if endHash(n, body) != want {
		return nil, fmt.Errorf("%w: node %d of the ends of its chains is missing or was changed", ErrDamaged, n)
	}
	e.cache.put(n, want, body)
	e.own[n] = body
	return body, nil
}

// endChild returns the hash of a child; zero if there is none.
func endChild(body []byte, i int64) (h tlog.Hash) {
	at, ok := endSlot(body, i)
	if ok {
		copy(h[:], body[at:])
	}
	return h
}

// endSlot returns where in a node the hash of a child is, or would be. Other bytes than a node have no children.
func endSlot(body []byte, i int64) (at int, ok bool) {
	at = 2
	if !endFormed(body) || len(body) == 0 {
		return at, false
	}
	there := binary.BigEndian.Uint16(body)
	for j := range i {
		if there&(1<<j) != 0 {
			at += tlog.HashSize
		}
	}
	return at, there&(1<<i) != 0
}

// endFormed reports whether a node, but for a leaf node, is as long as it says.
func endFormed(body []byte) bool {
	return len(body) == 0 || len(body) >= 2 && len(body) == 2+tlog.HashSize*bits.OnesCount16(binary.BigEndian.Uint16(body))
}

// leaf returns the leaf node of a key.
func (e *Ends) leaf(key tlog.Hash) (n int64, body []byte, err error) {
	body = e.root
	for _, n = range endPlace(key) {
		if !endFormed(body) {
			return n, nil, fmt.Errorf("%w: node %d of the ends of its chains has %d bytes", ErrDamaged, n/endFan, len(body))
		}
		if own, ok := e.own[n]; ok {
			body = own
			continue
		}
		want := endChild(body, n%endFan)
		if body = nil; want == (tlog.Hash{}) {
			continue
		}
		if body, err = e.node(n, want); err != nil {
			return n, nil, err
		}
	}
	if len(body)%endItem != 0 {
		return n, nil, fmt.Errorf("%w: node %d of the ends of its chains has %d bytes", ErrDamaged, n, len(body))
	}
	return n, body, nil
}

// endFind returns where in a leaf node a key is, or would be.
func endFind(body []byte, key tlog.Hash) (at int, ok bool) {
	items := len(body) / endItem
	low, high := 0, items
	for low < high {
		mid := (low + high) / 2
		if bytes.Compare(body[mid*endItem:mid*endItem+tlog.HashSize], key[:]) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	at = low * endItem
	return at, low < items && bytes.Equal(body[at:at+tlog.HashSize], key[:])
}

// has reports whether the map has the value for the key; the zero value is that of a key that is not there.
func (e *Ends) has(key, value tlog.Hash) (bool, error) {
	_, body, err := e.leaf(key)
	if err != nil {
		return false, err
	}
	var found tlog.Hash
	if at, ok := endFind(body, key); ok {
		copy(found[:], body[at+tlog.HashSize:])
	}
	return found == value, nil
}

// HasEnd reports whether a chain ends so.
func (e *Ends) HasEnd(l *Link) (bool, error) { return e.has(endKey("chain", l.Name), l.endValue()) }

// HasNone reports whether there is no open chain of that name.
func (e *Ends) HasNone(name string) (bool, error) { return e.has(endKey("chain", name), tlog.Hash{}) }

// HasNext reports whether the next of the listed chains after one, or after [ListedStart], is that one; after the last
// comes "".
func (e *Ends) HasNext(name, next string) (bool, error) {
	return e.has(endKey("listed", name), nextValue(name, next))
}

func nextValue(name, next string) tlog.Hash {
	if name == ListedStart && next == "" {
		return tlog.Hash{} // there are none
	}
	return endKey("next", next)
}

// set gives a key a value; the zero value removes the key.
func (e *Ends) set(key, value tlog.Hash) error {
	n, body, err := e.leaf(key)
	if err != nil {
		return err
	}
	at, ok := endFind(body, key)
	grown := slices.Clone(body)
	if ok {
		grown = slices.Delete(grown, at, at+endItem)
	}
	if value != (tlog.Hash{}) {
		grown = slices.Insert(grown, at, append(key[:], value[:]...)...)
	}
	e.own[n] = grown
	e.dirty[n] = true
	return nil
}

// SetEnd has a chain end so.
func (e *Ends) SetEnd(l *Link) error { return e.set(endKey("chain", l.Name), l.endValue()) }

// Close removes a chain. Of a listed one, before and after are its neighbours, see [Ends.HasNext].
func (e *Ends) Close(name, before, after string) error {
	if err := e.set(endKey("chain", name), tlog.Hash{}); err != nil || !strings.HasPrefix(name, Listed) {
		return err
	}
	if err := e.follows(before, name); err != nil {
		return err
	}
	if err := e.follows(name, after); err != nil {
		return err
	}
	if err := e.set(endKey("listed", name), tlog.Hash{}); err != nil {
		return err
	}
	return e.link(before, after)
}

// Enlist puts a listed chain between two that follow each other, see [Ends.HasNext].
func (e *Ends) Enlist(name, before, after string) error {
	if err := e.follows(before, after); err != nil {
		return err
	}
	if err := e.link(before, name); err != nil {
		return err
	}
	return e.link(name, after)
}

func (e *Ends) follows(name, next string) error {
	ok, err := e.HasNext(name, next)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the chain after %.60q is not %.60q", ErrDamaged, name, next)
	}
	return err
}

func (e *Ends) link(name, next string) error {
	return e.set(endKey("listed", name), nextValue(name, next))
}

// Commit takes the set ends into the map, and returns the nodes that changed.
func (e *Ends) Commit() []EndNode {
	for level := endLevels; level > 0; level-- {
		for n := range maps.Clone(e.dirty) {
			if n >= 1<<(4*level) && n < 1<<(4*level+4) {
				e.raise(n)
			}
		}
	}
	changed := make([]EndNode, 0, len(e.dirty))
	for _, n := range slices.Sorted(maps.Keys(e.dirty)) {
		changed = append(changed, EndNode{n, e.own[n]})
		if hash := endHash(n, e.own[n]); hash != (tlog.Hash{}) {
			e.cache.put(n, hash, e.own[n])
		}
	}
	clear(e.dirty)
	return changed
}

// raise brings the hash of a node into its parent.
func (e *Ends) raise(n int64) {
	up, i := n/endFan, n%endFan
	body := e.root
	if up > 1 {
		body = e.own[up]
	}
	if len(body) == 0 {
		body = []byte{0, 0}
	}
	there := binary.BigEndian.Uint16(body)
	at, ok := endSlot(body, i)
	grown := slices.Clone(body)
	if ok {
		grown = slices.Delete(grown, at, at+tlog.HashSize)
	}
	there &^= 1 << i
	if hash := endHash(n, e.own[n]); hash != (tlog.Hash{}) {
		grown = slices.Insert(grown, at, hash[:]...)
		there |= 1 << i
	}
	binary.BigEndian.PutUint16(grown, there)
	if there == 0 {
		grown = []byte{}
	}
	if up == 1 {
		e.root = grown
		return
	}
	e.own[up] = grown
	e.dirty[up] = true
}

// EndsOf returns the map of these ends, and all of its nodes but the root.
func EndsOf(links []Link) (*Ends, []EndNode, error) {
	e := NewEnds(nil, nil)
	var listed []string
	for i := range links {
		if err := e.SetEnd(&links[i]); err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(links[i].Name, Listed) {
			listed = append(listed, links[i].Name)
		}
	}
	slices.Sort(listed)
	before := ListedStart
	for _, name := range append(listed, "") {
		if err := e.link(before, name); err != nil {
			return nil, nil, err
		}
		before = name
	}
	return e, slices.DeleteFunc(e.Commit(), func(n EndNode) bool { return len(n.Body) == 0 }), nil
}
