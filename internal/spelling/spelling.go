// Package spelling finds the word that a misspelt one was meant to be, for hints beside error messages: [Nearest] gives
// the one candidate that is near enough, [DidYouMean] a whole hint. Both are pure, and their work is bounded by the
// lengths of the words.
package spelling

import "strings"

// Nearest returns the candidate that a misspelt or shortened word most likely means, or "" if none is near: at most one
// letter in five is wrong, or the end of the candidate is missing, or the part before its last dots.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(word)/5)
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d > 0 && len(word) > 2 && (strings.HasPrefix(c, word) || strings.HasSuffix(c, "."+word)) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns a hint that names the nearest candidate, or all of them if none is near.
func DidYouMean(word string, candidates []string) string {
	if c := Nearest(word, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return "use " + OrList(candidates)
}

// distance is the Damerau-Levenshtein distance of adjacent transpositions, over bytes. Words longer than any name here
// are as far as they are long.
func distance(a, b string) int {
	const longest = 128
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// OrList writes "a, b or c".
func OrList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
