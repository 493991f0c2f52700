// Package pattern holds regular expressions and sets of words that are made when they are first used, since most
// commands use few.
//
//	var digits = pattern.New(`[0-9]+`)
//
//	digits().MatchString(text)
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that returns the regular expression, and panics if that is wrong. It is safe for concurrent
// use.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
