package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module; TestModule holds it against go.mod.
const module = "github.com/weir-mcp/weir"

// root is the repository's root, seen from this package.
const root = "../.."

// A goFile is one parsed file.
type goFile struct {
	path  string // from the root, with slashes
	dir   string // the package's path in the module, "." at the root
	test  bool   // its name ends in _test.go
	lines int
	ast   *ast.File
}

// A tree is every Go file of the repository.
type tree struct {
	fset  *token.FileSet
	files []*goFile
}

// at gives a position as path:line, from the root.
func (tr *tree) at(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// product lists the files that are built into programs and libraries.
func (tr *tree) product() []*goFile {
	return slices.DeleteFunc(slices.Clone(tr.files), func(f *goFile) bool { return f.test })
}

// packages lists the directories that hold Go files, and of each its files that are not tests.
func (tr *tree) packages() map[string][]*goFile {
	all := map[string][]*goFile{}
	for _, f := range tr.files {
		if _, ok := all[f.dir]; !ok {
			all[f.dir] = nil
		}
		if !f.test {
			all[f.dir] = append(all[f.dir], f)
		}
	}
	return all
}

// load parses the repository.
func load(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	walk(t, func(name string, data []byte) {
		if path.Ext(name) != ".go" || isForeign(name) {
			return
		}
		file, err := parser.ParseFile(tr.fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		tr.files = append(tr.files, &goFile{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			lines: bytes.Count(data, []byte("\n")), ast: file,
		})
	})
	if len(tr.files) == 0 {
		t.Fatal("no Go file found")
	}
	return tr
}

// isForeign reports whether a file belongs to a module of its own, which tests build: its imports are no dependencies of ours.
func isForeign(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// walk hands every text file of the repository to do, by its path from the root. Other people's code, what git
// keeps for itself and binary files are passed over.
func walk(t *testing.T, do func(name string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" && !entry.IsDir() { // of a linked work tree
			return nil
		}
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules", "vendor"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) < 0 {
			do(filepath.ToSlash(rel), data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestModule holds what other rules take for granted, and keeps tools and replacements out of go.mod: who imports
// the libraries would be asked to resolve them too.
func TestModule(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if lines[0] != "module "+module {
		t.Errorf("go.mod starts with %q, the rules are about %s", lines[0], module)
	}
	for i, line := range lines {
		for _, word := range []string{"replace", "tool", "exclude"} {
			if strings.HasPrefix(line, word+" ") {
				t.Errorf("go.mod:%d: no %s directives here", i+1, word)
			}
		}
	}
}
