package audit

import (
	"crypto/rand"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight is the height of tiles: c2sp.org/tlog-tiles fixes it.
const tileHeight = 8

// A Head is the end of a log: all that is needed to go on. The zero Head is that of an empty log.
type Head struct {
	Size int64
	Edge []tlog.Hash // of the full subtrees that the tree consists of, the largest first; as many as Size has bits set
	Ends tlog.Hash   // the hash of [Ends]; zero: the storage commits to none
	Seal []byte      // as it is kept, see [Anchor.Seal]; empty: it has none
}

// MakeHead returns the head of a log of the given size from the concatenated hashes of its edge. Those of another
// length are [ErrDamaged].
func MakeHead(size int64, edge []byte) (Head, error) {
	n := bits.OnesCount64(uint64(size))
	if size < 0 || len(edge) != n*tlog.HashSize {
		return Head{}, fmt.Errorf("%w: a head of size %d with %d bytes of hashes", ErrDamaged, size, len(edge))
	}
	h := Head{Size: size, Edge: make([]tlog.Hash, n)}
	for i := range h.Edge {
		copy(h.Edge[i][:], edge[i*tlog.HashSize:])
	}
	return h, nil
}

// EdgeBytes returns the concatenated hashes of the edge.
func (h Head) EdgeBytes() []byte {
	b := make([]byte, 0, len(h.Edge)*tlog.HashSize)
	for _, hash := range h.Edge {
		b = append(b, hash[:]...)
	}
	return b
}

// Root returns the hash of the tree.
func (h Head) Root() tlog.Hash {
	if len(h.Edge) == 0 {
		empty, _ := tlog.TreeHash(0, nil) // reads nothing
		return empty
	}
	root := h.Edge[len(h.Edge)-1]
	for i := len(h.Edge) - 2; i >= 0; i-- {
		root = tlog.NodeHash(h.Edge[i], root)
	}
	return root
}

// Equal reports whether both are the same head, but for their seals and ends.
func (h Head) Equal(o Head) bool {
	if h.Size != o.Size || len(h.Edge) != len(o.Edge) {
		return false
	}
	for i := range h.Edge {
		if h.Edge[i] != o.Edge[i] {
			return false
		}
	}
	return true
}

func (h Head) clone() Head { return Head{h.Size, slices.Clone(h.Edge), h.Ends, slices.Clone(h.Seal)} }

// Push adds a leaf, and returns its record hash.
func (h *Head) Push(leaf []byte) tlog.Hash {
	hash := tlog.RecordHash(leaf)
	h.push(hash, nil)
	return hash
}

// push adds a leaf's hash and appends the nodes that it completes.
func (h *Head) push(hash tlog.Hash, nodes []Node) []Node {
	level := 0
	for n := h.Size; n&1 == 1; n >>= 1 {
		last := len(h.Edge) - 1
		hash = tlog.NodeHash(h.Edge[last], hash)
		h.Edge = h.Edge[:last]
		if level++; level%tileHeight == 0 {
			nodes = append(nodes, Node{level / tileHeight, h.Size >> level, hash})
		}
	}
	h.Edge = append(h.Edge, hash)
	h.Size++
	return nodes
}

// A Link is the end of a chain.
type Link struct {
	Name string
	ID   ID
	Next int64     // the position of its next entry
	Last tlog.Hash // the record hash of its last leaf
}

// A Batch holds the rows that a storage writes to append entries.
type Batch struct {
	Head  Head
	Rows  []Row
	Nodes []Node
	Links []*Link // of the entries' chains, each once
}

// Sequence gives entries their places after the head. A storage calls it in the transaction in which it read the head
// and the links of the entries' chains, by their names; those that are not there begin. The head of the batch has
// neither [Ends] nor a seal. The storage writes the whole batch in that transaction, in which nothing else may append.
// Entries that a log does not take are [ErrInvalid].
func Sequence(head Head, links map[string]*Link, entries []Entry) (*Batch, error) {
	for i := range entries {
		if err := entries[i].Check(); err != nil {
			return nil, err
		}
	}
	b := &Batch{Head: Head{Size: head.Size, Edge: append([]tlog.Hash(nil), head.Edge...)}, Rows: make([]Row, len(entries))}
	salts, leaves := salts(len(entries)), make([]byte, 0, len(entries)*leafSize)
	touched := map[*Link]bool{}
	for i, e := range entries {
		link := links[e.Chain]
		if link == nil {
			link = &Link{Name: e.Chain}
			rand.Read(link.ID[:]) // never fails
			links[e.Chain] = link
		}
		if !touched[link] {
			touched[link] = true
			b.Links = append(b.Links, link)
		}
		row := &b.Rows[i]
		*row = Row{Seq: b.Head.Size, Salt: salts[i*saltSize : (i+1)*saltSize : (i+1)*saltSize], Entry: e.normal()}
		leaf := Leaf{Seq: row.Seq, Chain: link.ID, Pos: link.Next, Prev: link.Last, Digest: row.digest(row.Salt)}
		leaves = leaf.Append(leaves)
		row.Leaf = leaves[i*leafSize : (i+1)*leafSize : (i+1)*leafSize]
		link.Last = tlog.RecordHash(row.Leaf)
		link.Next++
		b.Nodes = b.Head.push(link.Last, b.Nodes)
	}
	return b, nil
}
