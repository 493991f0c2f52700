package house

import (
	"bufio"
	"flag"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var countPassed = flag.Bool("passed", false, "count the functions that a call passes in the guard; it builds the guard anew")

// mostPassed are the functions of each package that one call may pass, from [guard.Guard.Before] to the label of its answer. The
// limits only go down.
var mostPassed = map[string]int{"guard": 89, "guard/trace": 27}

// TestPassed counts the functions that run for one call and its answer, by the counters of go test -cover: those that run more often in
// a test with one call than in a test that only makes the guard.
func TestPassed(t *testing.T) {
	if !*countPassed {
		t.Skip("without -passed")
	}
	none, one := countersOf(t, "TestPassedByNone"), countersOf(t, "TestPassedByOne")
	tr := load(t)
	for dir, most := range mostPassed {
		passed := 0
		for _, f := range tr.packages()[dir] {
			for _, d := range f.ast.Decls {
				d, ok := d.(*ast.FuncDecl)
				if !ok || d.Body == nil {
					continue
				}
				start, end := tr.fset.Position(d.Pos()).Line, tr.fset.Position(d.End()).Line
				if one.first(f.path, start, end) > none.first(f.path, start, end) {
					passed++
				}
			}
		}
		t.Logf("%s: a call passes %d functions", dir, passed)
		if passed > most || passed == 0 {
			t.Errorf("%s: a call passes %d functions, at most %d", dir, passed, most)
		}
	}
}

// counters are how often the blocks of files ran, by file and the line where a block begins.
type counters map[string]map[int]int

// first returns how often the first block of a function ran.
func (c counters) first(file string, start, end int) int {
	for line := start; line <= end; line++ {
		if n, ok := c[file][line]; ok {
			return n
		}
	}
	return 0
}

// countersOf runs a test of the guard and reads its counters.
func countersOf(t *testing.T, name string) counters {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	test := exec.CommandContext(t.Context(), "go", "test", "./guard", "-count=1", "-run", "^"+name+"$", "-covermode=count",
		"-coverpkg=./guard,./guard/trace", "-coverprofile="+profile)
	test.Dir = root
	if out, err := test.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok") {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	all := counters{}
	for lines := bufio.NewScanner(text); lines.Scan(); { // FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
		file, rest, ok := strings.Cut(strings.TrimPrefix(lines.Text(), module+"/"), ":")
		if !ok || !strings.HasSuffix(file, ".go") {
			continue
		}
		line, err1 := strconv.Atoi(rest[:strings.IndexByte(rest, '.')])
		n, err2 := strconv.Atoi(rest[strings.LastIndexByte(rest, ' ')+1:])
		if err1 != nil || err2 != nil {
			t.Fatalf("no counter: %s", lines.Text())
		}
		if all[file] == nil {
			all[file] = map[int]int{}
		}
		if _, known := all[file][line]; !known {
			all[file][line] = n
		}
	}
	return all
}
