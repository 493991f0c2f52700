package house

import (
	"go/ast"
	"testing"
)

// Hard limits. The aim is well below them: files under 400 lines, functions under 40, four parameters, interfaces
// of four methods, structs under 20 fields.
const (
	maxFunction   = 100 // lines, from func to the closing brace
	maxFile       = 500 // lines
	maxParameters = 5
	maxMethods    = 6 // of an interface
	maxFields     = 24

	maxTestFunction = 200 // a table of cases is long and easy to read
	maxTestFile     = 800
)

// oversize lists exceptions from a limit: a path, or path:name, and why.
var oversize = map[string]string{}

func TestSizes(t *testing.T) {
	tr := load(t)
	over := func(at, what string, n, limit int) {
		if n > limit {
			t.Errorf("%s: %s: %d, at most %d", at, what, n, limit)
		}
	}
	for _, f := range tr.files {
		functionLimit, fileLimit := maxFunction, maxFile
		if f.test {
			functionLimit, fileLimit = maxTestFunction, maxTestFile
		}
		if _, ok := oversize[f.path]; !ok {
			over(f.path, "lines of this file", f.lines, fileLimit)
		}
		for n := range ast.Preorder(f.ast) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if _, ok := oversize[f.path+":"+n.Name.Name]; ok {
					continue
				}
				over(tr.at(n), "lines of "+n.Name.Name, tr.lines(n), functionLimit)
				over(tr.at(n), "parameters of "+n.Name.Name, n.Type.Params.NumFields(), maxParameters)
			case *ast.FuncLit:
				over(tr.at(n), "parameters of a function", n.Type.Params.NumFields(), maxParameters)
			case *ast.TypeSpec:
				if _, ok := oversize[f.path+":"+n.Name.Name]; ok {
					continue
				}
				switch typ := n.Type.(type) {
				case *ast.InterfaceType:
					over(tr.at(n), "methods of "+n.Name.Name, typ.Methods.NumFields(), maxMethods)
				case *ast.StructType:
					over(tr.at(n), "fields of "+n.Name.Name, typ.Fields.NumFields(), maxFields)
				}
			}
		}
	}
}

// lines counts the lines from the first to the last of a node.
func (tr *tree) lines(n ast.Node) int {
	return tr.fset.Position(n.End()).Line - tr.fset.Position(n.Pos()).Line + 1
}
