package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Proof shows that a log holds an entry. It can be checked without the log: see [Proof.Check].
type Proof struct {
	Checkpoint string      `json:"checkpoint"` // a signed note over at least Seq+1 entries
	Seq        int64       `json:"entry"`
	Leaf       []byte      `json:"leaf"`
	Path       []tlog.Hash `json:"path"` // RFC 6962, section 2.1.1
}

// A tileReader is a [tlog.TileReader].
type tileReader func([]tlog.Tile) ([][]byte, error)

// Height implements [tlog.TileReader].
func (tileReader) Height() int { return tileHeight }

// SaveTiles implements [tlog.TileReader].
func (tileReader) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements [tlog.TileReader].
func (r tileReader) ReadTiles(wanted []tlog.Tile) ([][]byte, error) { return r(wanted) }

// errRead is the kind of error of hashes that could not be read, which says nothing about them.
var errRead = errors.New("reading the hashes of the log")

// tiles makes the tiles of a log of a given size from its rows and nodes.
type tiles struct {
	st   Storage
	size int64
}

// reader returns the hashes of a tree. They are checked against its root.
func (t tiles) reader(ctx context.Context, root tlog.Hash) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: t.size, Hash: root}, tileReader(func(wanted []tlog.Tile) ([][]byte, error) {
		out := make([][]byte, len(wanted))
		for i, tile := range wanted {
			var err error
			if out[i], err = t.tile(ctx, tile); err != nil {
				return nil, err
			}
		}
		return out, nil
	}))
}

// tile returns the hashes of one tile, one after the other.
func (t tiles) tile(ctx context.Context, tile tlog.Tile) ([]byte, error) {
	from := tile.N << tileHeight
	to := from + int64(tile.W)
	b := make([]byte, 0, tile.W*tlog.HashSize)
	if tile.L == 0 {
		for row, err := range t.st.Rows(ctx, Query{From: from, To: min(to, t.size), Leaves: true}) {
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errRead, err)
			}
			hash := tlog.RecordHash(row.Leaf)
			b = append(b, hash[:]...)
		}
	} else {
		nodes, err := t.st.Nodes(ctx, tile.L, from, to)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
		for _, n := range nodes {
			b = append(b, n.Hash[:]...)
		}
	}
	if len(b) != tile.W*tlog.HashSize {
		return nil, fmt.Errorf("%w: %d of the %d hashes of %s", ErrDamaged, len(b)/tlog.HashSize, tile.W, tile.Path())
	}
	return b, nil
}

// Prove returns the proof that the log holds the entry, against a checkpoint over the log as it is.
func (l *Log) Prove(ctx context.Context, seq int64) (*Proof, error) {
	text, err := l.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	if text == nil || seq < 0 {
		return nil, fmt.Errorf("proving entry %d: %w", seq, ErrRange)
	}
	s, err := peek(text)
	if err != nil {
		return nil, err
	}
	if seq >= s.size {
		return nil, fmt.Errorf("proving entry %d of %d: %w", seq, s.size, ErrRange)
	}
	p := &Proof{Checkpoint: string(text), Seq: seq}
	for row, err := range l.store.Rows(ctx, Query{From: seq, To: seq + 1}) {
		if err != nil {
			return nil, err
		}
		p.Leaf = row.Leaf
	}
	if p.Path, err = tlog.ProveRecord(s.size, seq, tiles{l.store, s.size}.reader(ctx, s.root)); err != nil {
		return nil, fmt.Errorf("proving entry %d: %w", seq, err)
	}
	return p, nil
}

// Check verifies the proof with the log's public key. It says nothing about the content of the entry: compare its leaf
// with [Row.Check].
func (p *Proof) Check(verifier string) error {
	s, err := openAny([]byte(p.Checkpoint), verifier)
	if err != nil {
		return err
	}
	leaf, err := ParseLeaf(p.Leaf)
	if err != nil {
		return err
	}
	if leaf.Seq != p.Seq || p.Seq < 0 || p.Seq >= s.size {
		return fmt.Errorf("%w: a proof for entry %d with the leaf of entry %d of %d", ErrDamaged, p.Seq, leaf.Seq, s.size)
	}
	if err := tlog.CheckRecord(p.Path, s.size, s.root, p.Seq, tlog.RecordHash(p.Leaf)); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// openAny returns the statement of a note if the key is one of those that signed it.
func openAny(b []byte, verifier string) (*statement, error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		return nil, fmt.Errorf("%w: %.60q is not a public key", ErrKey, verifier)
	}
	n, err := note.Open(b, note.VerifierList(v))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	s, err := parseStatement(n.Text)
	if err == nil && s.origin != v.Name() {
		err = fmt.Errorf("%w: a checkpoint of the log %.60q", ErrKey, s.origin)
	}
	return s, err
}

// Extends reports whether the log as it is extends the log of an older checkpoint, which the key has signed. If not,
// the error is [ErrDamaged]: the log was shortened or rewritten.
func Extends(ctx context.Context, st Storage, checkpoint []byte, verifier string) error {
	old, err := openAny(checkpoint, verifier)
	if err != nil {
		return err
	}
	head, err := st.Head(ctx)
	if err != nil {
		return err
	}
	root := head.Root()
	if old.size > head.Size {
		return fmt.Errorf("%w: it has %d entries, and had %d", ErrDamaged, head.Size, old.size)
	}
	if old.size == 0 {
		return nil
	}
	proof, err := tlog.ProveTree(head.Size, old.size, tiles{st, head.Size}.reader(ctx, root))
	if err == nil {
		err = tlog.CheckTree(proof, head.Size, root, old.size, old.root)
	}
	if err != nil {
		return fmt.Errorf("%w: it does not extend the checkpoint over %d entries: %w", ErrDamaged, old.size, err)
	}
	return nil
}

// Verifiers returns the public keys that the log was ever signed with, as its checkpoints say, if the verifier is one
// of them: of a log that was handed over to another key, all of that chain. They are as good as the verifier is, since
// each key has signed that it hands over to the next.
func Verifiers(ctx context.Context, st Signed, verifier string) ([]string, error) {
	keys, known := []string{verifier}, false
	for c, err := range st.Checkpoints(ctx, 0) {
		if err != nil {
			return nil, err
		}
		said, err := peek(c.Note)
		if err != nil || said.to == "" {
			continue
		}
		if said, err = openNote(c.Note, said.from, said.to); err != nil {
			return nil, err
		}
		known = known || said.from == verifier || said.to == verifier
		for _, k := range []string{said.from, said.to} {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	if !known {
		return keys[:1], nil
	}
	return keys, nil
}

// Consistency returns the proof that the tree over the first old entries is a beginning of that over the first size
// (RFC 6962, section 2.1.2).
func (l *Log) Consistency(ctx context.Context, old, size int64) ([]tlog.Hash, error) {
	head, err := l.store.Head(ctx)
	if err != nil {
		return nil, err
	}
	if old < 1 || old > size || size > head.Size {
		return nil, fmt.Errorf("proving %d of %d entries: %w", old, size, ErrRange)
	}
	return tlog.ProveTree(size, old, tiles{l.store, head.Size}.reader(ctx, head.Root()))
}
