package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestStateBites shows TestState's rule small pieces of code that it has to refuse, or to leave alone.
func TestStateBites(t *testing.T) {
	for _, c := range []struct {
		source string
		want   int
	}{
		{`var a = map[string]int{"x": 1}; func f() int { return a["x"] }`, 0},
		{`var a = map[string]int{"x": 1}; func f() { a["x"] = 2 }`, 1},
		{`var a = map[string]int{"x": 1}; func f() { a["x"]++; delete(a, "x"); clear(a) }`, 3},
		{`var a = [2]int{}; func f(i int) { a[i], i = 1, 2 }`, 1},
		{`var a struct{ b struct{ c int } }; func f() { a.b.c = 1 }`, 1},
		{`var a int; func f() *int { return &a }`, 1},
		{`var a int; func f() { a := 1; a = 2; _ = a }`, 0},
		{`var a []int; func f() { a = append(a, 1) }`, 1},
		{`var a int; func f() { for a = range 3 {} }`, 1},
		{`import "errors"; var Err = errors.New("x")`, 0},
		{`import "sync"; var a sync.Mutex`, 1},
		{`import "sync"; var a = sync.OnceValue(func() int { return 1 })`, 0},
		{`import "sync/atomic"; var a atomic.Int64`, 1},
		{`var a = make(chan int)`, 2},
		{`var a = new(int)`, 1},
		{`var a = func() []int { return make([]int, 3) }`, 0},
		{`func f() { var a = new(int); *a = 1 }`, 0},
		{`type T struct{ n int }; var _ interface{ M() } = (*T)(nil); func (*T) M() {}`, 0},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x; "+c.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s := newState(fset, "x", []*ast.File{file})
		got := 0
		for n := range ast.Preorder(file) {
			got += len(s.breaches(n))
		}
		if got != c.want {
			t.Errorf("%d breaches, want %d: %s", got, c.want, c.source)
		}
	}
}

// TestPatternsBite does the same for the rule about regular expressions.
func TestPatternsBite(t *testing.T) {
	for source, breached := range map[string]bool{
		"var a = regexp.MustCompile(`a`)":                                       true,
		"var a = []*regexp.Regexp{regexp.MustCompile(`a`)}":                     true,
		"var ( b int; a = pattern.New(`(`) )":                                   true,
		"var b = `a`; var a = pattern.New(b)":                                   true,
		"var a = pattern.New(`(?i)\\b(` + `a|b)`)":                              false,
		"func f() { regexp.MustCompile(`a`) }":                                  false,
		"var a = sync.OnceValue(func() any { return regexp.MustCompile(`a`) })": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for call := range initialCalls(file) {
			got = got || patternBreach(call) != ""
		}
		if got != breached {
			t.Errorf("%s: breached %v, want %v", source, got, breached)
		}
	}
}

// TestLinksBite does the same for the rule about links.
func TestLinksBite(t *testing.T) {
	documents := map[string][]string{"docs/a.md": prose("# One `two` three\n```\n# not a heading\n```\n")}
	for target, broken := range map[string]bool{
		"https://example.org/nowhere": false,
		"#one-two-three":              false,
		"#not-a-heading":              true,
		"../go.mod":                   false,
		"go.mod":                      true,
		"a.md#absent":                 true,
	} {
		if problem := follow(documents, "docs/a.md", target); (problem != "") != broken {
			t.Errorf("%s: %q, want a problem: %v", target, problem, broken)
		}
	}
	if got := links("[a](b.md), ![c](d.png \"e\"), `[f](g.md)`, [h](#i)"); len(got) != 3 {
		t.Errorf("links: %q", got)
	}
}
