package catalogue_test

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
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

// TestFreshResults holds that a change that returns a record has the sources of that record: its results are the server's
// own if there are none, or none but secrets that it made, or a reviewed list says so.
func TestFreshResults(t *testing.T) {
	fresh := reviewed(t, "testdata/fresh.txt")
	used := map[string]bool{}
	for entry, of := range read(t) {
		for name, s := range of.Tools {
			if s.Contract["readOnly"] == true {
				continue
			}
			said := []said{s.Contract}
			for _, w := range s.When {
				said = append(said, over(w.Contract, s.Contract))
			}
			for _, c := range said {
				returns := slices.DeleteFunc(c.list("returns"), func(v string) bool { return v == "credentials" })
				if c["readOnly"] == true || len(returns) == 0 || len(c.list("sources")) != 1 || !c.has("sources", "system") {
					continue
				}
				known := false
				for glob := range fresh {
					if ok, _ := path.Match(glob, entry+" "+name); ok {
						known, used[glob] = true, true
					}
				}
				if !known {
					t.Errorf("%s %s returns %v of the record that it changes, as the system's", entry, name, returns)
				}
			}
		}
	}
	for glob := range fresh {
		if !used[glob] {
			t.Errorf("%s is in testdata/fresh.txt for nothing", glob)
		}
	}
}

// over returns what is said where the refinement holds.
func over(refined, base said) said {
	all := maps.Clone(base)
	maps.Copy(all, refined)
	return all
}

// alone are entries in whose conditions the absence of one argument, and nothing of the others, keeps a call from the public.
var alone = map[string]string{
	"azure":           "learn lists the commands and runs none",
	"postgres-henkey": "without a connection string the database is the configured one",
}

// TestAbsenceNamesTheRest holds that a call goes nowhere public for the lack of one argument only if the condition lists
// the arguments that it may have: another one, or one of the next version, may send too.
func TestAbsenceNamesTheRest(t *testing.T) {
	found := 0
	for entry, of := range read(t) {
		for name, s := range of.Tools {
			for _, w := range s.When {
				lowers := s.Contract.has("destinations", "public") && len(w.Contract.list("destinations")) > 0 && !w.Contract.has("destinations", "public")
				if !lowers || !strings.Contains(w.If, "!has(") || alone[entry] != "" {
					continue
				}
				if found++; !strings.Contains(w.If, "call.arguments.all(k, k in [") {
					t.Errorf("%s %s is not public if %s, whatever else is in the arguments", entry, name, w.If)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d conditions are found", found)
	}
}

// lasting are arguments by which data goes without a further call, or by which a server becomes another account's.
var lasting = regexp.MustCompile(`(?i)(^|[.])(ttl|expire|expire_?(after_?)?(in_?)?seconds|expiration(_?seconds)?)$|(^|[.])(token|secret|code|client_?secret|api_?key|access_?token)$`)

// TestLasting holds that a tool with an argument that lets data expire, or logs in, is irreversible or public, but where
// a condition on its arguments says otherwise.
func TestLasting(t *testing.T) {
	entries, found := read(t), 0
	for entry, server := range servers(t) {
		for name, types := range server.tools {
			s, ok := entries[entry].Tools[name]
			if !ok || !s.may("readOnly", false) {
				continue
			}
			for argument, kind := range types {
				if kind == "b" || kind == "e" || !lasting.MatchString(argument) {
					continue
				}
				found++
				if !s.Contract.has("outcomes", "irreversible") && !s.Contract.has("destinations", "public") {
					t.Errorf("%s %s: %s lets data go, or logs in, and the outcomes are %v", entry, name, argument, s.Contract.list("outcomes"))
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d arguments are found", found)
	}
}
