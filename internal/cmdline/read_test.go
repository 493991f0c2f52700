package cmdline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rows are those of all tables, by program and verb.
func rows() map[string]command {
	all := map[string]command{}
	for _, table := range []map[string]command{doers, commands} {
		for name, c := range table {
			all[name] = c
			for verb, c := range c.verbs {
				all[name+" "+verb] = c
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, c command) bool { return !c.known || c.verbs != nil })
	return all
}

// drawOption returns an option of a row, with its value if it needs one.
func drawOption(t *rapid.T, c command) []string {
	letters := strings.Split(c.letters, "")
	all := append(strings.Fields(string(c.long)), "-5")
	for i, set := range []words{c.valued.texts, c.valued.names, c.valued.paths} {
		for name := range strings.FieldsSeq(string(set)) {
			option, joined := strings.CutSuffix(name, "=")
			if joined {
				all = append(all, option+"=a")
			} else {
				all = append(all, option+"=b", option+" "+strings.Repeat("v", i+1))
			}
		}
	}
	if c.letters != "" && rapid.Bool().Draw(t, "letters") {
		return []string{"-" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 3).Draw(t, "cluster"), "")}
	}
	return strings.Fields(rapid.SampledFrom(all).Draw(t, "option"))
}

// drawOperand returns a word that a row takes for an operand.
func drawOperand(t *rapid.T, c command) string {
	return rapid.SampledFrom(slices.DeleteFunc([]string{"a.go", "./b", "test", "HEAD"}, func(o string) bool {
		return c.operand != nil && !c.operand(o)
	})).Draw(t, "operand")
}

// drawWords returns words behind a program, which its row often accepts.
func drawWords(t *rapid.T, c command) (all []string) {
	for range rapid.IntRange(0, 3).Draw(t, "options") {
		all = append(all, drawOption(t, c)...)
	}
	if c.script {
		all = append(all, "5p")
	}
	if most := c.operands; most != 0 {
		if most < 0 {
			most = c.least + 2
		}
		for range rapid.IntRange(c.least, most).Draw(t, "operands") {
			all = append(all, drawOperand(t, c))
		}
	}
	return all
}

// TestEachWordOnce holds that each word behind a program is an option, the value of one or an operand, and just one of
// them.
func TestEachWordOnce(t *testing.T) {
	for name, c := range rows() {
		words := slices.Sorted(strings.FieldsSeq(string(c.valued.texts + " " + c.valued.names + " " + c.valued.paths + " " + c.long)))
		if len(slices.Compact(slices.Clone(words))) != len(words) {
			t.Errorf("%s takes an option in two ways: %s", name, words)
		}
		for _, letter := range c.letters {
			if c.takesJoined("-" + string(letter)) {
				t.Errorf("%s takes -%c with and without a value", name, letter)
			}
		}
	}
	all := rows()
	names := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "row")
		c := all[name]
		given := drawWords(t, c)
		if c.ends && rapid.Bool().Draw(t, "ended") {
			given = slices.Insert(given, rapid.IntRange(0, len(given)).Draw(t, "at"), "--")
		}
		r, ok := c.accepts(literals(given))
		if !ok {
			return
		}
		var got []string
		for _, o := range r.options {
			if got = append(got, o.word.text); o.next {
				got = append(got, o.value.text)
			} else if o.value.text != "" && !strings.HasSuffix(o.word.text, o.value.text) {
				t.Fatalf("%s %q: the value %q is not in %q", name, given, o.value.text, o.word.text)
			}
		}
		for i, o := range r.operands {
			if got = append(got, o.text); i >= r.named != slices.Contains(given[:len(given)-len(r.operands)+i], "--") {
				t.Fatalf("%s %q: %d operands stand before --", name, given, r.named)
			}
		}
		if r.ended {
			got = append(got, "--")
		}
		if want := slices.Sorted(slices.Values(given)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Fatalf("%s %q: %q", name, given, got)
		}
	})
}

// TestNoOptionsBehindTheEnd holds that a word behind -- says no more about a line than any other name of a file there.
func TestNoOptionsBehindTheEnd(t *testing.T) {
	all := rows()
	maps.DeleteFunc(all, func(_ string, c command) bool { return !c.ends })
	names := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "row")
		c := all[name]
		before := append(drawWords(t, c), "--")
		var behind, others []string
		for range rapid.IntRange(1, 2).Draw(t, "behind") {
			behind = append(behind, drawOption(t, c)[0])
			others = append(others, "a.go")
		}
		read, ok := c.accepts(literals(append(slices.Clone(before), behind...)))
		other, same := c.accepts(literals(append(slices.Clone(before), others...)))
		if ok != same {
			t.Fatalf("%s %q: %v with %q, %v with %q", name, before, ok, behind, same, others)
		}
		if !ok {
			return
		}
		if read.shows() != other.shows() || read.form() != other.form() || read.onlyInput() != other.onlyInput() || read.outside() != other.outside() ||
			read.commitsIndex() != other.commitsIndex() || read.recordsAll() != other.recordsAll() {
			t.Fatalf("%s %q: %q says something else than %q", name, before, behind, others)
		}
		if files := read.looksAt(0); c.of == ofPath && !c.needle && !slices.Equal(files[len(files)-len(behind):], behind) {
			t.Fatalf("%s %q %q looks at %q", name, before, behind, files)
		}
	})
}

// TestPathsAreLookedAt holds that all files which a program, or the shell before it, may look for are among those of the
// line: operands and values of options that are paths, and each word with a sign of a pattern.
func TestPathsAreLookedAt(t *testing.T) {
	all := rows()
	names := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "row")
		c := all[name]
		want, given := []string{}, append(strings.Fields(name), drawWords(t, c)...)
		for option := range strings.FieldsSeq(string(c.valued.paths)) {
			given, want = append(given, option, "/net/value"), append(want, "/net/value")
		}
		if c.operands < 0 && c.operand == nil {
			pattern := rapid.SampledFrom([]string{"/net/p*", "/net/?", "/net/a~1"}).Draw(t, "pattern")
			given, want = append(given, "x.go", pattern), append(want, pattern)
		}
		for option := range strings.FieldsSeq(string(c.valued.texts)) {
			if strings.HasPrefix(option, "--") {
				pattern := strings.TrimSuffix(option, "=") + "=/net/*"
				given, want = append(given, pattern), append(want, pattern)
			}
		}
		d, ok := Understand(strings.Join(given, " "))
		for _, p := range want {
			if ok && !slices.Contains(d.Within, p) {
				t.Fatalf("%q looks at %q, not at %q", given, d.Within, p)
			}
		}
	})
	if d, ok := Understand("find . -newer /net/value"); !ok || !slices.Contains(d.Within, "/net/value") {
		t.Errorf("%v %+v", ok, d)
	}
}
