package house

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// emptyNames say nothing about what a package is for.
var emptyNames = []string{
	"util", "utils", "common", "types", "helper", "helpers", "manager", "core", "pkg", "misc", "base", "shared", "lib",
	"interfaces", "models", "constants",
}

// TestPackages wants a telling name and a comment of every package.
func TestPackages(t *testing.T) {
	for dir, files := range load(t).packages() {
		for name := range strings.SplitSeq(dir, "/") {
			if slices.Contains(emptyNames, name) {
				t.Errorf("%s: %q says nothing; name the package after what it is about", dir, name)
			}
		}
		var comment string
		for _, f := range files {
			if f.ast.Doc != nil {
				comment += f.ast.Doc.Text()
			}
			if name := f.ast.Name.Name; name != path.Base(dir) && name != "main" {
				t.Errorf("%s: package %s in a directory of another name", f.path, name)
			}
		}
		if len(files) > 0 && !strings.HasPrefix(comment, "Package "+path.Base(dir)+" ") && !strings.HasPrefix(comment, "Command ") &&
			!strings.HasPrefix(comment, "Weir ") {
			t.Errorf("%s: needs a comment that starts with \"Package %s \": what it is, how to start, what it promises",
				dir, path.Base(dir))
		}
	}
}

// TestPatterns wants the regular expressions of packages compiled when they are used, and right: each start of the
// program pays for all packages.
func TestPatterns(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		if f.dir == "internal/manual" || strings.HasPrefix(f.dir, "release") { // which are not in the program
			continue
		}
		for call := range initialCalls(f.ast) {
			if why := patternBreach(call); why != "" {
				t.Errorf("%s: %s", tr.at(call), why)
			}
		}
	}
}

// initialCalls returns the calls that are made when the program begins, but for those of functions.
func initialCalls(file *ast.File) iter.Seq[*ast.CallExpr] {
	return func(yield func(*ast.CallExpr) bool) {
		more := true
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				ast.Inspect(d, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && more {
						more = yield(call)
					}
					_, function := n.(*ast.FuncLit)
					return more && !function
				})
			}
		}
	}
}

// patternBreach says why a call of a declaration makes no good regular expression; "" if it does, or makes none.
func patternBreach(call *ast.CallExpr) string {
	switch types.ExprString(call.Fun) {
	case "regexp.MustCompile":
		return "compiled at each start; take pattern.New"
	case "pattern.New":
		text, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(call.Args[0]))
		if err != nil || text.Value == nil {
			return "no constant, so that nothing shows that it is right"
		}
		if _, err := regexp.Compile(constant.StringVal(text.Value)); err != nil {
			return err.Error()
		}
	}
	return ""
}

// TestComments wants a doc comment on everything exported. In a group, the group's own will do.
func TestComments(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", tr.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, name := range uncommented(d) {
					t.Errorf("%s: %s has no comment", tr.at(name), name.Name)
				}
			}
		}
	}
}

// exportedReceiver tells whether d is a function, or a method of an exported type that no well-known interface
// explains.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	known := []string{"String", "Error", "Unwrap", "Is", "As", "Close", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported() && !slices.Contains(known, d.Name.Name)
}

// uncommented lists the exported names of a declaration that neither it nor their own line explains.
func uncommented(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && d.Doc == nil {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc == nil && d.Doc == nil && s.Comment == nil {
				names = append(names, s.Names...)
			}
		}
	}
	return slices.DeleteFunc(names, func(id *ast.Ident) bool { return !id.IsExported() })
}

// aboveOnly are things that only package main may touch: code below takes everything it needs as an argument.
var aboveOnly = map[string]string{
	"os.Getenv":            "the environment is an argument",
	"os.LookupEnv":         "the environment is an argument",
	"os.Environ":           "the environment is an argument",
	"os.ExpandEnv":         "the environment is an argument",
	"os.Setenv":            "the environment is an argument",
	"os.UserHomeDir":       "directories are arguments",
	"os.UserConfigDir":     "directories are arguments",
	"os.UserCacheDir":      "directories are arguments",
	"os.Chdir":             "directories are arguments",
	"os.Exit":              "return an error or a status",
	"os.Args":              "arguments are an argument",
	"os.Stdin":             "streams are arguments",
	"os.Stdout":            "streams are arguments",
	"os.Stderr":            "streams are arguments",
	"fmt.Print":            "streams are arguments",
	"fmt.Printf":           "streams are arguments",
	"fmt.Println":          "streams are arguments",
	"slog.Default":         "loggers are options",
	"signal.Notify":        "signal.NotifyContext has an end",
	"context.TO" + "DO":    "pass the caller's context",
	"http.DefaultClient":   "it has no time limits and is everyone's",
	"http.DefaultServeMux": "it is everyone's",
	"http.ListenAndServe":  "a server without time limits",
	"http.Get":             "it has no context",
	"http.Post":            "it has no context",
	"http.NewRequest":      "it has no context",
	"time.Tick":            "it has no owner",
}

// TestCalls keeps to package main the calls that belong there.
func TestCalls(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		if f.ast.Name.Name == "main" {
			continue
		}
		imported := importNames(f.ast)
		for n := range ast.Preorder(f.ast) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || imported[id.Name] == "" {
				continue
			}
			if why := aboveOnly[path.Base(imported[id.Name])+"."+sel.Sel.Name]; why != "" {
				t.Errorf("%s: %s.%s: %s", tr.at(n), id.Name, sel.Sel.Name, why)
			}
		}
	}
}

// importNames maps the names under which a file imports packages of the standard library to their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if first, _, _ := strings.Cut(target, "/"); err != nil || strings.Contains(first, ".") {
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}

// TestErrors reads the texts of errors: lower case, no full stop, and the operation rather than its failure.
func TestErrors(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		for n := range ast.Preorder(f.ast) {
			text, ok := errorText(n)
			if !ok {
				continue
			}
			first, _, _ := strings.Cut(text, " ")
			switch {
			case slices.Contains([]string{"failed", "unable", "error", "could", "cannot"}, strings.TrimRight(first, ":")):
				t.Errorf("%s: %q: name what was being done, not that it failed", tr.at(n), text)
			case capitalised.MatchString(first):
				t.Errorf("%s: %q: errors start in lower case", tr.at(n), text)
			case strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "..."), strings.HasSuffix(text, "\n"), strings.HasSuffix(text, "!"):
				t.Errorf("%s: %q: errors end without a stop", tr.at(n), text)
			}
		}
	}
}

// capitalised matches a word written as at the start of a sentence; names such as JSON-RPC or Mcp-Session-Id are not.
var capitalised = regexp.MustCompile(`^[A-Z][a-z]+[:,]?$`)

// errorText returns the constant text of errors.New or fmt.Errorf.
func errorText(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Errorf" && sel.Sel.Name != "New" {
		return "", false
	}
	if id, ok := sel.X.(*ast.Ident); !ok || id.Name != "errors" && id.Name != "fmt" {
		return "", false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// TestContexts wants contexts to come first, and a caller's to be kept nowhere. A struct may keep the context
// of its own life, under one of two names: life (ends with it) or closing (ends when Close begins).
func TestContexts(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		for n := range ast.Preorder(f.ast) {
			switch n := n.(type) {
			case *ast.StructType:
				for _, field := range n.Fields.List {
					own := len(field.Names) == 1 && (field.Names[0].Name == "life" || field.Names[0].Name == "closing")
					if isContext(field.Type) && !own {
						t.Errorf("%s: a context is passed, not stored", tr.at(field))
					}
				}
			case *ast.FuncType:
				for i, field := range n.Params.List {
					if i > 0 && isContext(field.Type) {
						t.Errorf("%s: the context comes first", tr.at(field))
					}
				}
			}
		}
	}
}

func isContext(typ ast.Expr) bool {
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "context" && sel.Sel.Name == "Context"
}

// TestState allows package-level variables only where Go has no constants for the thing: errors, tables, expressions,
// embedded files. Nothing changes one, takes its address, or hides a lock, a counter or a channel in it; and nothing
// runs before main.
func TestState(t *testing.T) {
	tr := load(t)
	for _, f := range tr.product() {
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				t.Errorf("%s: no init functions", tr.at(d))
			}
		}
	}
	packages := tr.packages()
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		var files []*ast.File
		for _, f := range packages[dir] {
			files = append(files, f.ast)
		}
		s := newState(tr.fset, dir, files)
		for _, f := range files {
			for n := range ast.Preorder(f) {
				for _, breach := range s.breaches(n) {
					t.Errorf("%s: %s", tr.at(breach.at), breach.what)
				}
			}
		}
	}
}

// state knows which identifiers of a package stand for its package-level variables.
type state struct {
	info *types.Info
	pkg  *types.Package
}

type breach struct {
	at   ast.Node
	what string
}

// newState resolves the names of a package. Imports are left unresolved: the declarations of the package itself are
// enough.
func newState(fset *token.FileSet, dir string, files []*ast.File) *state {
	s := &state{info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	config := types.Config{
		Importer: noImports{}, FakeImportC: true, DisableUnusedImportCheck: true,
		Error: func(error) {}, // unresolved imports are expected
	}
	s.pkg, _ = config.Check(dir, fset, files, s.info)
	return s
}

// noImports resolves nothing.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// variable returns the package-level variable that an expression reads from or writes into, by its name.
func (s *state) variable(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.Ident:
			v, ok := s.info.Uses[x].(*types.Var)
			if ok && s.pkg != nil && v.Parent() == s.pkg.Scope() {
				return x.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// breaches looks at one node.
func (s *state) breaches(n ast.Node) (found []breach) {
	written := func(e ast.Expr) {
		if name := s.variable(e); name != "" {
			found = append(found, breach{e, "package-level variable " + name + " is changed"})
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			written(e)
		}
	case *ast.IncDecStmt:
		written(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN && n.Key != nil {
			written(n.Key)
		}
	case *ast.UnaryExpr:
		if name := s.variable(n.X); n.Op == token.AND && name != "" {
			if _, whole := ast.Unparen(n.X).(*ast.Ident); whole {
				found = append(found, breach{n, "the address of package-level variable " + name + " is taken"})
			}
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"clear", "delete"}, id.Name) && len(n.Args) > 0 {
			written(n.Args[0])
		}
	case *ast.ValueSpec:
		if len(n.Names) > 0 {
			if v, ok := s.info.Defs[n.Names[0]].(*types.Var); ok && s.pkg != nil && v.Parent() == s.pkg.Scope() {
				found = append(found, hidden(n)...)
			}
		}
	}
	return found
}

// hidden looks for state inside a declared variable: locks, atomics, pools, channels, fresh memory to write to.
func hidden(spec *ast.ValueSpec) (found []breach) {
	look := func(e ast.Expr) {
		if e == nil {
			return
		}
		for n := range ast.Preorder(e) {
			switch n := n.(type) {
			case *ast.FuncLit:
				return // the body of a function is judged where it is called
			case *ast.ChanType:
				found = append(found, breach{n, "a channel at package level"})
			case *ast.SelectorExpr:
				id, ok := n.X.(*ast.Ident)
				once := strings.HasPrefix(n.Sel.Name, "OnceValue") // a constant computed late
				if ok && !once && (id.Name == "sync" || id.Name == "atomic") {
					found = append(found, breach{n, "a " + id.Name + "." + n.Sel.Name + " at package level"})
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "make" || id.Name == "new") {
					found = append(found, breach{n, "memory to write to at package level"})
				}
			}
		}
	}
	look(spec.Type)
	for _, value := range spec.Values {
		look(value)
	}
	return found
}

// TestExamples wants an example of every package that others import, so that go doc and its pages show how to start.
func TestExamples(t *testing.T) {
	has := map[string]bool{}
	public := map[string]bool{}
	for _, f := range load(t).files {
		top, _, _ := strings.Cut(f.dir, "/")
		if slices.Contains([]string{"internal", "cmd", "e2e", "examples", "api"}, top) {
			continue
		}
		public[f.dir] = public[f.dir] || !f.test
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && f.test && strings.HasPrefix(d.Name.Name, "Example") {
				has[f.dir] = true
			}
		}
	}
	if len(public) < 20 {
		t.Fatalf("%d public packages", len(public))
	}
	for dir, is := range public {
		acceptance := strings.HasSuffix(dir, "test") // its functions take a *testing.T
		if is && !has[dir] && !acceptance {
			t.Errorf("%s: needs an Example function", dir)
		}
	}
}
