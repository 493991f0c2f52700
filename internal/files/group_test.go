//go:build unix

package files

import (
	"io/fs"
	"testing"
)

// Only groups that are private by custom may write.
func TestOthersWrite(t *testing.T) {
	const me, other, root = 65532, 1000, 0
	for _, c := range []struct {
		who    owner
		mode   fs.FileMode
		me     int
		others bool
	}{
		{owner{root, root}, 0o775, me, false},
		{owner{root, me}, 0o775, me, false}, // a volume of a cluster
		{owner{root, me}, 0o775, other, true},
		{owner{root, other}, 0o775, me, true},
		{owner{root, other}, 0o775, root, true},
		{owner{me, me}, 0o770, me, false},
		{owner{me, other}, 0o770, me, true},
		{owner{other, other}, 0o770, root, false}, // root reads files of others
		{owner{me, me}, 0o777, me, true},
		{owner{root, me}, 0o777, me, true},
		{owner{me, other}, 0o755, me, false},
	} {
		if got := othersWrite(c.who, c.mode, c.me); got != c.others {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
