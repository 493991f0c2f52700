package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

var (
	updateFiles = flag.Bool("files.update", false, "lower the limits in testdata/files.tsv to the present figures")
	showFiles   = flag.String("files.show", "", "print the order of the files of this package, and the uses that point up")
)

const (
	filesLimits = "testdata/files.tsv"
	fewArrows   = 8 // of packages with fewer arrows the share says nothing
)

// A shape holds the figures of the inside of one package.
type shape struct {
	up      int // percent of the arrows between files that point up
	methods int // of the type that has the most
	spread  int // files in which the methods of one type stand, at most
}

// usual are the limits of packages without a row in filesLimits.
var usual = shape{up: 15, methods: 25, spread: 3}

// An inside is a package by its files: which of them uses a name that another one declares, and where the methods of
// its types stand.
type inside struct {
	files   []string
	uses    map[[2]int][]string // from a file to a file: the names
	methods map[string][]string // of a type: the file of each method
}

// TestFiles holds the inside of packages: its files have an order in which nearly all uses point to a later file, and no
// type has many methods or is spread over many files. The limits of each package can only go down:
// go test ./internal/house -run TestFiles -files.update.
func TestFiles(t *testing.T) {
	limits := readShapes(t)
	figures := map[string]shape{}
	tr := load(t)
	for dir, files := range tr.packages() {
		if len(files) == 0 {
			continue
		}
		p := newInside(tr, dir, files)
		figures[dir] = p.shape()
		if dir == *showFiles {
			t.Log(p.String())
		}
		limit, ok := limits[dir]
		if !ok {
			limit = usual
		}
		if got := figures[dir]; !*updateFiles && (got.up > limit.up || got.methods > limit.methods || got.spread > limit.spread) {
			t.Errorf("%s: %d %% of the uses between files point up, a type has %d methods, one has methods in %d files; at most %d, %d and %d "+
				"(-files.show %[1]s names them)", dir, got.up, got.methods, got.spread, limit.up, limit.methods, limit.spread)
		}
	}
	if *updateFiles {
		writeShapes(t, figures, limits)
	}
}

// newInside resolves the names of a package. Names that are reached through types of other packages are left out.
func newInside(tr *tree, dir string, files []*goFile) *inside {
	p := &inside{uses: map[[2]int][]string{}, methods: map[string][]string{}}
	var parsed []*ast.File
	index := map[string]int{}
	for i, f := range files {
		parsed = append(parsed, f.ast)
		p.files = append(p.files, path.Base(f.path))
		index[f.path] = i
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				name := receiver(d)
				p.methods[name] = append(p.methods[name], f.path)
			}
		}
	}
	s := newState(tr.fset, dir, parsed)
	for id, object := range s.info.Uses {
		if object.Pkg() != s.pkg || !declared(object, s.pkg) {
			continue
		}
		from, to := index[tr.fset.Position(id.Pos()).Filename], index[tr.fset.Position(object.Pos()).Filename]
		if from != to {
			arrow := [2]int{from, to}
			if !slices.Contains(p.uses[arrow], object.Name()) {
				p.uses[arrow] = append(p.uses[arrow], object.Name())
			}
		}
	}
	return p
}

// declared reports whether an object is a declaration of the package, a method or a field: none inside a function.
func declared(object types.Object, pkg *types.Package) bool {
	if v, ok := object.(*types.Var); ok && v.IsField() {
		return true
	}
	if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return pkg != nil && object.Parent() == pkg.Scope()
}

// receiver returns the name of the type whose method is declared.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// shape measures the package.
func (p *inside) shape() (s shape) {
	for _, files := range p.methods {
		s.methods = max(s.methods, len(files))
		s.spread = max(s.spread, len(slices.Compact(slices.Sorted(slices.Values(files)))))
	}
	if len(p.uses) >= fewArrows {
		s.up = (100*p.up(p.order()) + len(p.uses) - 1) / len(p.uses)
	}
	return s
}

// up counts the arrows that point to an earlier file.
func (p *inside) up(order []int) (n int) {
	place := make([]int, len(order))
	for i, f := range order {
		place[f] = i
	}
	for arrow := range p.uses {
		if place[arrow[1]] < place[arrow[0]] {
			n++
		}
	}
	return n
}

// order looks for the order of the files in which the fewest arrows point up: it moves one file at a time to its best
// place until no move helps.
func (p *inside) order() []int {
	order := p.byDegree()
	to := make([][]bool, len(order))
	for i := range to {
		to[i] = make([]bool, len(order))
	}
	for arrow := range p.uses {
		to[arrow[0]][arrow[1]] = true
	}
	for moved := true; moved; {
		moved = false
		for _, f := range slices.Clone(order) {
			at := slices.Index(order, f)
			best, gain := at, 0
			for _, step := range []int{-1, 1} {
				change := 0
				for i := at + step; i >= 0 && i < len(order); i += step {
					change += step * (weight(to[order[i]][f]) - weight(to[f][order[i]]))
					if change > gain {
						best, gain = i, change
					}
				}
			}
			if gain > 0 {
				order = slices.Insert(slices.Delete(order, at, at+1), best, f)
				moved = true
			}
		}
	}
	return order
}

func weight(arrow bool) int {
	if arrow {
		return 1
	}
	return 0
}

// byDegree orders the files by how many more files they use than use them.
func (p *inside) byDegree() []int {
	degree := make([]int, len(p.files))
	order := make([]int, len(p.files))
	for i := range order {
		order[i] = i
	}
	for arrow := range p.uses {
		degree[arrow[0]]++
		degree[arrow[1]]--
	}
	slices.SortStableFunc(order, func(a, b int) int { return degree[b] - degree[a] })
	return order
}

// String lists the files from top to bottom, with the names for which each one points up, and the largest types.
func (p *inside) String() string {
	var b strings.Builder
	order := p.order()
	fmt.Fprintf(&b, "%d of %d arrows point up\n", p.up(order), len(p.uses))
	for i, from := range order {
		fmt.Fprintln(&b, p.files[from])
		for _, to := range order[:i] {
			if names := p.uses[[2]int{from, to}]; names != nil {
				slices.Sort(names)
				fmt.Fprintf(&b, "    up to %s: %s\n", p.files[to], strings.Join(names, " "))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.methods)) {
		files := slices.Compact(slices.Sorted(slices.Values(p.methods[name])))
		if len(files) > usual.spread || len(p.methods[name]) > usual.methods {
			fmt.Fprintf(&b, "%s: %d methods in %d files\n", name, len(p.methods[name]), len(files))
		}
	}
	return b.String()
}

// readShapes reads the limits: path and three numbers, separated by tabs.
func readShapes(t *testing.T) map[string]shape {
	t.Helper()
	data, err := os.ReadFile(filesLimits)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]shape{}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if line == "" {
			continue // an empty file
		}
		var name string
		var s shape
		if _, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d", &name, &s.up, &s.methods, &s.spread); err != nil {
			t.Fatalf("%s:%d: %v", filesLimits, i+1, err)
		}
		limits[name] = s
	}
	return limits
}

// writeShapes lowers the limits of the packages that have some, and drops those that are no longer needed.
func writeShapes(t *testing.T, figures, limits map[string]shape) {
	t.Helper()
	var b strings.Builder
	for _, name := range sortedKeys(limits) {
		got, ok := figures[name]
		s := shape{
			up:      max(usual.up, min(got.up, limits[name].up)),
			methods: max(usual.methods, min(got.methods, limits[name].methods)),
			spread:  max(usual.spread, min(got.spread, limits[name].spread)),
		}
		if ok && s != usual {
			fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", name, s.up, s.methods, s.spread)
		}
	}
	if err := os.WriteFile(filesLimits, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
