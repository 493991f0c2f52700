package bounded_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/bounded"
)

// TestMap compares a map with a list of all that was set, of which the newest keys count.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		m := bounded.NewMap[int, int](limit)
		var keys, values []int // oldest first
		remove := func(key int) bool {
			i := slices.Index(keys, key)
			if i < 0 {
				return false
			}
			keys, values = slices.Delete(keys, i, i+1), slices.Delete(values, i, i+1)
			return true
		}
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := rapid.IntRange(0, 8).Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 0:
				m.Clear()
				keys, values = nil, nil
			case 1, 2:
				if got := m.Delete(key); got != remove(key) {
					t.Fatalf("deleting %d is %v", key, got)
				}
			default:
				m.Set(key, step)
				remove(key)
				keys, values = append(keys, key), append(values, step)
				if len(keys) > limit {
					remove(keys[0])
				}
			}
			if m.Len() != len(keys) {
				t.Fatalf("%d entries, want %v", m.Len(), keys)
			}
			for key := range 9 {
				got, ok := m.Get(key)
				if i := slices.Index(keys, key); ok != (i >= 0) || ok && got != values[i] {
					t.Fatalf("%d is %d, %v; want %v of %v", key, got, ok, values, keys)
				}
			}
		}
	})
}

func TestWindow(t *testing.T) {
	w := bounded.Window{Length: time.Minute}
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		after time.Duration
		over  bool
		n     int
	}{
		{0, true, 1}, {time.Second, false, 2}, {time.Minute - 1, false, 3}, {time.Minute, true, 1},
		{time.Minute + time.Second, false, 2}, {time.Hour, true, 1},
	} {
		now := start.Add(c.after)
		if over := w.Over(now); over != c.over {
			t.Errorf("after %v: over is %v", c.after, over)
		}
		if n := w.Add(now); n != c.n {
			t.Errorf("after %v: %d, want %d", c.after, n, c.n)
		}
	}
}
