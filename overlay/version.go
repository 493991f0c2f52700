package overlay

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A versionRange is comparisons that a version has to pass, all of them: ">=1.2 <2".
type versionRange struct{ all []comparison }

type comparison struct {
	operator string // one of comparisonOperators
	version  []int
}

// comparisonOperators in the order in which they are looked for.
var comparisonOperators = []string{">=", "<=", ">", "<", "="}

func parseVersionRange(s string) (*versionRange, error) {
	r := &versionRange{}
	for word := range strings.FieldsSeq(s) {
		c := comparison{operator: "="}
		for _, o := range comparisonOperators {
			if rest, ok := strings.CutPrefix(word, o); ok {
				c.operator, word = o, rest
				break
			}
		}
		numbers, pre, ok := parseVersion(word)
		if !ok || pre {
			return nil, fmt.Errorf("%.40q is no version of numbers and dots", word)
		}
		c.version = numbers
		r.all = append(r.all, c)
	}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("a version range without versions")
	}
	return r, nil
}

// has reports whether a version is in the range. One that is not numbers and dots is in none; one with a suffix, as of
// a release to come, counts as just before the version without.
func (r *versionRange) has(version string) bool {
	v, pre, ok := parseVersion(version)
	if !ok {
		return false
	}
	for _, c := range r.all {
		order := compareVersions(v, c.version)
		if order == 0 && pre {
			order = -1
		}
		var passes bool
		switch c.operator {
		case ">=":
			passes = order >= 0
		case "<=":
			passes = order <= 0
		case ">":
			passes = order > 0
		case "<":
			passes = order < 0
		default:
			passes = order == 0
		}
		if !passes {
			return false
		}
	}
	return true
}

// parseVersion reads 1.2.3, v1.2.3 or 1.2.3-rc1; pre is whether there is a suffix of a release to come.
func parseVersion(s string) (numbers []int, pre, ok bool) {
	s = strings.TrimPrefix(s, "v")
	s, _, _ = strings.Cut(s, "+")
	s, _, pre = strings.Cut(s, "-")
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || len(numbers) == 8 {
			return nil, false, false
		}
		numbers = append(numbers, int(n))
	}
	return numbers, pre, true
}

// compareVersions orders versions; numbers that are missing are zero.
func compareVersions(a, b []int) int {
	for i := range max(len(a), len(b)) {
		var x, y int
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if order := cmp.Compare(x, y); order != 0 {
			return order
		}
	}
	return 0
}
