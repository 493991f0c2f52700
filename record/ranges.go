package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ranges are numbers of entries in ascending order, as pairs: the first and the last of each run. As text they are like
// "3-17,20".
type Ranges [][2]int64

// RangesOf returns the ranges of numbers, in any order.
func RangesOf(numbers []int64) (r Ranges) {
	numbers = slices.Sorted(slices.Values(numbers))
	for _, n := range numbers {
		if last := len(r) - 1; last >= 0 && n <= r[last][1]+1 {
			r[last][1] = n
			continue
		}
		r = append(r, [2]int64{n, n})
	}
	return r
}

// String returns the ranges as text.
func (r Ranges) String() string {
	var b strings.Builder
	for i, run := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(run[0], 10))
		if run[1] > run[0] {
			fmt.Fprintf(&b, "-%d", run[1])
		}
	}
	return b.String()
}

// ParseRanges reads ranges as text. None are "".
func ParseRanges(text string) (r Ranges, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, more := strings.Cut(part, "-")
		if !more {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 63)
		to, end := strconv.ParseUint(last, 10, 63)
		if err != nil || end != nil || to < from || len(r) > 0 && int64(from) <= r[len(r)-1][1] {
			return nil, fmt.Errorf("%.40q is no range of entries that can follow", part)
		}
		r = append(r, [2]int64{int64(from), int64(to)})
	}
	return r, nil
}

// Has reports whether the number is in one of the ranges.
func (r Ranges) Has(n int64) bool {
	i, _ := slices.BinarySearchFunc(r, n, func(run [2]int64, n int64) int { return cmp.Compare(run[1], n) })
	return i < len(r) && r[i][0] <= n
}
