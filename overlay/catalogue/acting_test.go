package catalogue_test

import (
	"regexp"
	"testing"
)

// acting are last names of arguments that act by themselves: code, programs, and the options by which one is started.
var acting = regexp.MustCompile(`(^|[.])(code|function)$|(?i:(script|command|cmd|args|argv|env|headers?|expression|program|executable_?path|pipeline|flags)$)|(^|[.\]])options$|[a-z]Options$`)

// TestActingArguments holds that no destination that the user names vouches for an argument that acts: it is a destination
// itself, or the tool has none, or can be undone and publishes nothing.
func TestActingArguments(t *testing.T) {
	entries, found := read(t), 0
	for entry, server := range servers(t) {
		for name, s := range entries[entry].Tools {
			if s.Arguments.Destination == nil || !s.Contract.has("outcomes", "irreversible") && !s.Contract.has("destinations", "public") || !s.may("readOnly", false) {
				continue
			}
			for path, kind := range server.tools[name] {
				if kind == "b" || kind == "e" || kind == "n" || !acting.MatchString(path) {
					continue
				}
				found++
				if !covers(s.Arguments.Destination, path) {
					t.Errorf("%s %s: %s acts by itself, and destinations %v vouch for it", entry, name, path, s.Arguments.Destination)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d arguments are found", found)
	}
}
