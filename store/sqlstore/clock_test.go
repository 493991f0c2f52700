package sqlstore

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// search is searchOlder in a log with these times. It returns how often it looked, too.
func search(t interface{ Fatalf(string, ...any) }, times []int64, than int64) (after, older int64, looks int) {
	after, older, err := searchOlder(int64(len(times)), than, func(places []int64) (map[int64]int64, error) {
		if looks++; len(places) > sizes[0] {
			t.Fatalf("%d places take several queries", len(places))
		}
		found := map[int64]int64{}
		for _, at := range places {
			found[at] = times[at]
		}
		return found, nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return after, older, looks
}

// Of a log in the order of its times, with erased entries, the newest older entry is found, or where it can only be before.
func TestSearchOlderFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times []int64
		at := int64(0)
		for range rapid.IntRange(0, 9).Draw(t, "runs") {
			at += rapid.Int64Range(1, 100).Draw(t, "later")
			times = append(times, slices.Repeat([]int64{at}, rapid.IntRange(1, 3000).Draw(t, "entries"))...)
		}
		for range rapid.IntRange(0, 3).Draw(t, "erasures") {
			from := rapid.IntRange(0, len(times)).Draw(t, "from")
			clear(times[from:rapid.IntRange(from, len(times)).Draw(t, "to")])
		}
		than := rapid.Int64Range(0, 1001).Draw(t, "than")
		after, older, _ := search(t, times, than)
		isOlder := func(at int64) bool { return at > 0 && at < than }
		last := len(times)
		for last > 0 && !isOlder(times[last-1]) {
			last--
		}
		switch {
		case older > 0 && (last == 0 || older != times[last-1]):
			t.Fatalf("found %d before %d", older, after)
		case older == 0 && int64(last) > after:
			t.Fatalf("entry %d is older, and not before %d", last-1, after)
		}
	})
}

// A log that was written under a clock that was set ahead and back is not taken for one of that clock: not as long as
// there are as many entries of the right time as of the wrong time after them. It is looked at a few times at any size.
func TestSearchOlderUnderSeveralClocks(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 300_000} {
		times := slices.Concat(slices.Repeat([]int64{10}, n), slices.Repeat([]int64{900}, n), slices.Repeat([]int64{950}, n),
			slices.Repeat([]int64{20}, n), slices.Repeat([]int64{951}, n))
		if _, older, looks := search(t, times, 940); older != 20 || looks > 6 {
			t.Errorf("of phases of %d entries: %d, after %d looks", n, older, looks)
		}
		mixed := slices.Repeat([]int64{10, 951, 952, 953, 954, 955, 956}, n)
		if _, older, _ := search(t, mixed, 940); older != 10 {
			t.Errorf("of two machines, one of which is ahead: %d", older)
		}
	}
}
