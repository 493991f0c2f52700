package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var updateEnglish = flag.Bool("english.update", false, "lower the limits in testdata/english.tsv to the present figures")

const (
	englishLimits = "testdata/english.tsv"
	newPronouns   = 6.0 // per 1,000 words, of a package or page that has no row yet
	maxColumns    = 150 // of a line of Go that is no test
	commentWidth  = 120 // columns of a comment, a tab as four
)

// pronoun finds the word that stands in the place of a noun: "what is sent" for "the message".
var pronoun = regexp.MustCompile(`(?i)\bwhat(ever)?\b`)

// banned are words for which the field has a term: untrusted content, the user or an operator, limitations, to approve,
// arguments, the result.
var banned = regexp.MustCompile(
	`(?i)\bstrangers?\b|\bsomebody\b|\brough edges?\b|\blets? happen\b|\bwhat (it is|they are) given\b|\bwhat comes back\b`)

var wordOfText = regexp.MustCompile(`\pL[\pL'’]*`)

// An english holds the figures of the texts of one package or page.
type english struct {
	words, pronouns, banned, long, wide int
}

// add counts a text.
func (e *english) add(text string) {
	e.words += len(wordOfText.FindAllStringIndex(text, -1))
	e.pronouns += len(pronoun.FindAllStringIndex(text, -1))
	e.banned += len(banned.FindAllStringIndex(text, -1))
}

// measure counts a line of Go. Examples in comments, which are indented, have no width.
func (e *english) measure(line string) {
	if utf8.RuneCountInString(line) > maxColumns {
		e.long++
	}
	if strings.HasPrefix(strings.TrimLeft(line, "\t"), "// ") &&
		utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > commentWidth {
		e.wide++
	}
}

// A ratchet holds the limits of one package or page: two densities in 1,000 words, the number of lines that are long, and
// that of comments that are wide.
type ratchet struct {
	pronouns, banned float64
	long, wide       int
}

// density returns a number of occurrences in 1,000 words, rounded up to a tenth.
func (e english) density(n int) float64 {
	return math.Ceil(float64(n)*10000/float64(max(e.words, 1))) / 10
}

// exceeds returns the reasons why the figures are over the limits. One occurrence more than the limit passes, so that a
// short text can be edited.
func (e english) exceeds(r ratchet) (reasons []string) {
	over := func(n int, limit float64) bool { return float64(n) > limit*float64(e.words)/1000+1 }
	if over(e.pronouns, r.pronouns) {
		reasons = append(reasons, fmt.Sprintf("the word \"what\" stands %.1f times in 1,000 words, at most %.1f: name the thing",
			e.density(e.pronouns), r.pronouns))
	}
	if over(e.banned, r.banned) {
		reasons = append(reasons, fmt.Sprintf("words like stranger, somebody or \"what comes back\" stand %.1f times in 1,000 words, "+
			"at most %.1f: use the terms of the field (untrusted content, the user, the result)", e.density(e.banned), r.banned))
	}
	if e.long > r.long {
		reasons = append(reasons, fmt.Sprintf("%d lines have more than %d columns, at most %d", e.long, maxColumns, r.long))
	}
	if e.wide > r.wide {
		reasons = append(reasons, fmt.Sprintf("%d lines of comments have more than %d columns, at most %d", e.wide, commentWidth, r.wide))
	}
	return reasons
}

// TestEnglish holds comments, messages and pages to plain English. The limits of each package and page can only go down:
// go test ./internal/house -run TestEnglish -english.update.
func TestEnglish(t *testing.T) {
	figures := englishFigures(t)
	limits := readRatchets(t)
	if *updateEnglish {
		writeRatchets(t, figures, limits)
		return
	}
	for _, name := range sortedKeys(figures) {
		limit, ok := limits[name]
		if !ok {
			limit = ratchet{pronouns: newPronouns}
		}
		for _, reason := range figures[name].exceeds(limit) {
			t.Errorf("%s: %s", name, reason)
		}
	}
}

// englishFigures counts the prose of every page by its path, and that of every package by its directory.
func englishFigures(t *testing.T) map[string]english {
	all := map[string]english{}
	walk(t, func(name string, data []byte) {
		switch path.Ext(name) {
		case ".md":
			var e english
			for _, line := range prose(string(data)) {
				e.add(codeSpan.ReplaceAllString(line, ""))
			}
			all[name] = e
		case ".go":
			if strings.HasSuffix(name, "_test.go") {
				return // tables of cases
			}
			e := all[path.Dir(name)]
			for line := range strings.Lines(string(data)) {
				e.measure(strings.TrimRight(line, "\n"))
			}
			all[path.Dir(name)] = e
		}
	})
	for _, f := range load(t).files {
		e := all[f.dir]
		for _, group := range f.ast.Comments {
			e.add(group.Text())
		}
		for _, message := range messages(f) {
			e.add(message)
		}
		all[f.dir] = e
	}
	return all
}

// messages returns the texts of three words or more in the code of the product.
func messages(f *goFile) (texts []string) {
	if f.test {
		return nil
	}
	for n := range ast.Preorder(f.ast) {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) >= 3 {
			texts = append(texts, text)
		}
	}
	return texts
}

// readRatchets reads the limits: path, two densities and two numbers of lines, separated by tabs.
func readRatchets(t *testing.T) map[string]ratchet {
	t.Helper()
	data, err := os.ReadFile(englishLimits)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]ratchet{}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if line == "" {
			continue // an empty file
		}
		var name string
		var r ratchet
		if _, err := fmt.Sscanf(line, "%s\t%g\t%g\t%d\t%d", &name, &r.pronouns, &r.banned, &r.long, &r.wide); err != nil {
			t.Fatalf("%s:%d: %v", englishLimits, i+1, err)
		}
		limits[name] = r
	}
	return limits
}

// writeRatchets writes the lower of limit and figure for everything that is there.
func writeRatchets(t *testing.T, figures map[string]english, limits map[string]ratchet) {
	t.Helper()
	var b strings.Builder
	for _, name := range sortedKeys(figures) {
		e := figures[name]
		r := ratchet{e.density(e.pronouns), e.density(e.banned), e.long, e.wide}
		if old, ok := limits[name]; ok {
			r = ratchet{min(r.pronouns, old.pronouns), min(r.banned, old.banned), min(r.long, old.long), min(r.wide, old.wide)}
		}
		fmt.Fprintf(&b, "%s\t%.1f\t%.1f\t%d\t%d\n", name, r.pronouns, r.banned, r.long, r.wide)
	}
	if err := os.WriteFile(englishLimits, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// TestEnglishBites shows the rule texts that it has to refuse, or to leave alone.
func TestEnglishBites(t *testing.T) {
	long := strings.Repeat("plain words of a long text. ", 40)
	for _, c := range []struct {
		text string
		long int
		want int
	}{
		{long, 0, 0},
		{long + "what", 0, 0},
		{long + "what whatever", 0, 1},
		{long + "WHAT. what", 0, 1},
		{long + "somewhat whats", 0, 0},
		{long + "a stranger's text of somebody", 0, 1},
		{long + "what comes back is what they are given", 0, 2},
		{long, 1, 1},
	} {
		e := english{long: c.long}
		e.add(c.text)
		if got := e.exceeds(ratchet{}); len(got) != c.want {
			t.Errorf("%q, want %d: …%s", got, c.want, c.text[len(long):])
		}
	}
}

// TestEnglishMeasures holds the width of code and of comments.
func TestEnglishMeasures(t *testing.T) {
	for _, c := range []struct {
		line       string
		long, wide int
	}{
		{"// " + strings.Repeat("x", 117), 0, 0},
		{"// " + strings.Repeat("x", 118), 0, 1},
		{"\t// " + strings.Repeat("ä", 113), 0, 0},
		{"\t// " + strings.Repeat("ä", 114), 0, 1},
		{"//\t" + strings.Repeat("x", 130), 0, 0},
		{"x() // " + strings.Repeat("x", 130), 0, 0},
		{"x(" + strings.Repeat("x", 148), 0, 0},
		{"x(" + strings.Repeat("x", 149), 1, 0},
		{"// " + strings.Repeat("x", 148), 1, 1},
	} {
		var e english
		if e.measure(c.line); e.long != c.long || e.wide != c.wide {
			t.Errorf("%d and %d, want %d and %d: %s", e.long, e.wide, c.long, c.wide, c.line)
		}
	}
	if got := (english{wide: 1}).exceeds(ratchet{}); len(got) != 1 {
		t.Errorf("a comment that is too wide: %q", got)
	}
}
