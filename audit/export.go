package audit

import (
	"context"
	"encoding/binary"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// level writes the tiles of a level of at least 1.
func (t tiles) level(ctx context.Context, level int, write func(string, []byte) error) error {
	hashes := t.size >> (level * tileHeight)
	for n := int64(0); n<<tileHeight < hashes; n++ {
		tile := tlog.Tile{H: tileHeight, L: level, N: n, W: int(min(hashes-n<<tileHeight, 1<<tileHeight))}
		data, err := t.tile(ctx, tile)
		if err != nil {
			return err
		}
		if err := write(tilePath(tile), data); err != nil {
			return err
		}
	}
	return nil
}

// bundles writes the leaves and the tiles of level 0 in one pass.
func (t tiles) bundles(ctx context.Context, write func(string, []byte) error) error {
	var hashes, leaves []byte
	tile := tlog.Tile{H: tileHeight}
	flush := func() error {
		if tile.W == 0 {
			return nil
		}
		if err := write(tilePath(tile), hashes); err != nil {
			return err
		}
		entries := tile
		entries.L = -1
		if err := write(tilePath(entries), leaves); err != nil {
			return err
		}
		tile.N, tile.W, hashes, leaves = tile.N+1, 0, nil, nil
		return nil
	}
	for row, err := range t.st.Rows(ctx, Query{To: t.size}) {
		if err != nil {
			return err
		}
		if row.Seq != tile.N<<tileHeight+int64(tile.W) {
			return fmt.Errorf("%w: entry %d is missing", ErrDamaged, row.Seq-1)
		}
		hash := tlog.RecordHash(row.Leaf)
		hashes = append(hashes, hash[:]...)
		leaves = append(binary.BigEndian.AppendUint16(leaves, uint16(len(row.Leaf))), row.Leaf...)
		if tile.W++; tile.W == 1<<tileHeight {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// tilePath returns the path of a tile in c2sp.org/tlog-tiles: tile/L/N, with .p/W for a tile that is not full. Level -1
// is that of the entry bundles.
func tilePath(t tlog.Tile) string {
	level := fmt.Sprint(t.L)
	if t.L < 0 {
		level = "entries"
	}
	n := fmt.Sprintf("%03d", t.N%1000)
	for rest := t.N / 1000; rest > 0; rest /= 1000 {
		n = fmt.Sprintf("x%03d/%s", rest%1000, n)
	}
	if t.W < 1<<tileHeight {
		n += fmt.Sprintf(".p/%d", t.W)
	}
	return "tile/" + level + "/" + n
}

// ParseBundle returns the leaves in an entry bundle.
func ParseBundle(b []byte) ([]Leaf, error) {
	var leaves []Leaf
	for len(b) > 0 {
		if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
			return nil, fmt.Errorf("%w: an entry bundle that is cut off", ErrDamaged)
		}
		n := 2 + int(binary.BigEndian.Uint16(b))
		leaf, err := ParseLeaf(b[2:n])
		if err != nil {
			return nil, err
		}
		leaves, b = append(leaves, leaf), b[n:]
	}
	return leaves, nil
}
