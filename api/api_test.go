package api_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the lists")

// TestAPI holds the exported declarations of each public package against the list of its name.
func TestAPI(t *testing.T) {
	listed, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range packages(t) {
		got := declarations(t, dir)
		if got == "" {
			continue
		}
		name := strings.ReplaceAll(filepath.ToSlash(strings.TrimPrefix(dir, ".."+string(filepath.Separator))), "/", "_") + ".txt"
		listed = slices.DeleteFunc(listed, func(l string) bool { return l == name })
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: the exported declarations are others than listed; after a change on purpose, run go test ./api -update, and "+
				"name whatever went or changed in CHANGELOG.md (-listed +found):\n%s", name, diff)
		}
	}
	for _, name := range listed {
		t.Errorf("%s lists a package that is no more", name)
	}
}

// packages returns the folders of the packages that other modules can import and are meant to.
func packages(t *testing.T) (dirs []string) {
	t.Helper()
	own := []string{".git", ".ci", "internal", "cmd", "e2e", "examples", "docs", "testdata", "api"}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case slices.Contains(own, entry.Name()):
			return filepath.SkipDir
		}
		dirs = append(dirs, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// declarations returns what a package exports, without comments and bodies, in the order of the text; groups of constants stay whole.
func declarations(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(parsed)
		for _, d := range parsed.Decls {
			all = append(all, exported(t, fset, d)...)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// exported returns the declaration as texts.
func exported(t *testing.T, fset *token.FileSet, d ast.Decl) (texts []string) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return nil
		}
		d.Body = nil
		return []string{text(t, fset, d)}
	case *ast.GenDecl:
		switch {
		case d.Tok == token.IMPORT:
			return nil
		case d.Tok == token.CONST && len(d.Specs) > 0: // the values of a group may count up
			return []string{text(t, fset, &ast.GenDecl{Tok: d.Tok, Lparen: 1, Specs: d.Specs, Rparen: 1})}
		}
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				v.Values = nil
			}
			texts = append(texts, text(t, fset, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{s}}))
		}
	}
	return texts
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// text prints a declaration without the empty lines that comments leave.
func text(t *testing.T, fset *token.FileSet, node any) string {
	t.Helper()
	var b bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, fset, node); err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(b.String(), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	for i, l := range lines {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		lines[i] = l[:indent] + strings.Join(strings.Fields(l), " ")
	}
	return fmt.Sprintln(strings.Join(lines, "\n"))
}
