package expression

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/weir-mcp/weir/internal/spelling"
)

// A names is a walk over a parsed expression that looks at the names in it: CEL would call a misspelt variable an
// undeclared reference to its first word, and would take a misspelt value for one that never occurs.
type names struct {
	vocabulary *Compiler
	source     *ast.SourceInfo
	bound      []string // loop variables in scope
	complaints []Complaint
	reads      map[string]bool // the variables that are read, true if by their value
	sizing     bool            // the walked expression is only measured
}

func (c *Compiler) checkNames(parsed *ast.AST) *names {
	n := &names{vocabulary: c, source: parsed.SourceInfo(), reads: map[string]bool{}}
	n.expr(parsed.Expr())
	return n
}

func (n *names) complain(e ast.Expr, hint, format string, args ...any) {
	at := n.source.GetStartLocation(e.ID())
	n.complaints = append(n.complaints, Complaint{
		Line: max(at.Line(), 0), Col: max(at.Column(), 0), Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (n *names) expr(e ast.Expr) {
	sizing := n.sizing
	n.sizing = false
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		n.selection(e, sizing)
	case ast.CallKind:
		n.call(e, e.AsCall())
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			n.expr(item)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			n.expr(entry.AsMapEntry().Key())
			n.expr(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		n.complain(e, "compare single values", "messages are not part of the rule language")
	case ast.ComprehensionKind:
		n.loop(e, e.AsComprehension())
	}
}

func (n *names) loop(e ast.Expr, c ast.ComprehensionExpr) {
	n.expr(c.IterRange())
	n.expr(c.AccuInit())
	if isHelperGroup(c.IterVar()) {
		n.complain(e, "choose another name", "the loop variable %s hides the functions %s.*", c.IterVar(), c.IterVar())
		return
	}
	if slices.ContainsFunc(n.vocabulary.variables, func(v Variable) bool { return strings.HasPrefix(v.Name, c.IterVar()+".") }) {
		n.complain(e, "choose another name", "the loop variable %s hides the facts %s.*", c.IterVar(), c.IterVar())
		return
	}
	outer := n.bound
	n.bound = append(slices.Clip(outer), c.IterVar(), c.AccuVar())
	n.expr(c.LoopCondition())
	n.expr(c.LoopStep())
	n.bound = outer
	n.bound = append(slices.Clip(outer), c.AccuVar())
	n.expr(c.Result())
	n.bound = outer
}

func (n *names) call(e ast.Expr, call ast.CallExpr) {
	n.sizing = call.FunctionName() == overloads.Size
	if call.IsMemberFunction() && !n.helper(e, call) {
		n.expr(call.Target())
	}
	for _, arg := range call.Args() {
		n.expr(arg)
	}
	n.sizing = false
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == overloads.Matches && len(args) > 0:
		if _, ok := literal(args[len(args)-1]); !ok {
			n.complain(e, "write the pattern as a literal", "the pattern of matches is not known at load")
		}
	case len(args) != 2:
	case name == operators.In:
		n.values(args[1], args[0])
	case name == operators.Equals || name == operators.NotEquals:
		n.values(args[0], args[1])
		n.values(args[1], args[0])
	}
}

// helper reports whether the call is of a helper function, such as path.under, or of one that does not exist.
func (n *names) helper(e ast.Expr, call ast.CallExpr) bool {
	target := call.Target()
	if target.Kind() != ast.IdentKind || !isHelperGroup(target.AsIdent()) || slices.Contains(n.bound, target.AsIdent()) {
		return false
	}
	name := target.AsIdent() + "." + call.FunctionName()
	if !slices.Contains(helperNames(), name) {
		n.complain(target, spelling.DidYouMean(name, helperNames()), "unknown function %s", name)
		return true
	}
	n.word(target, helperNamed(name), call.Args())
	return true
}

// word checks the second argument of a helper that takes one of some words.
func (n *names) word(at ast.Expr, h *helper, args []ast.Expr) {
	if h.words == nil {
		return
	}
	words := spelling.OrList(h.words)
	if len(args) != 2 {
		n.complain(at, "write "+h.name+"(text, "+strconv.Quote(h.words[0])+"), with one of "+words+"; leave the condition out for anything else",
			"%s takes a text and a dialect", h.name)
		return
	}
	switch s, ok := literal(args[1]); {
	case !ok:
		n.complain(args[1], "write one of "+words+" as a literal", "the dialect of %s is not known at load", h.name)
	case !slices.Contains(h.words, s):
		n.complain(args[1], "use "+words+"; a statement in any other dialect may do anything, so leave the condition out",
			"%s knows no dialect %q", h.name, s)
	}
}

// selection checks a fact, or a member of call.arguments or of a loop variable.
func (n *names) selection(e ast.Expr, sizing bool) {
	root, path, ok := selection(e)
	if !ok {
		n.expr(e.AsSelect().Operand())
		return
	}
	if slices.Contains(n.bound, root) {
		return
	}
	words := append([]string{root}, path...)
	for length := len(words); length > 0; length-- {
		name := strings.Join(words[:length], ".")
		present, asked := Present(name)
		if asked {
			name = present
		}
		if _, ok := n.vocabulary.index[name]; ok {
			whole := length == len(words)
			n.reads[name] = n.reads[name] || !(whole && (sizing || asked)) || name == Arguments
			return
		}
	}
	if len(path) == 0 && isType(root) {
		return
	}
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand() // the place of a selection is its last dot; that of the fact is its first letter
	}
	n.complain(e, n.vocabulary.Hint(strings.Join(words, ".")), "unknown fact %s", strings.Join(words, "."))
}

// isType reports whether the name is one that type(x) is compared with.
func isType(name string) bool {
	switch name {
	case "bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type":
		return true
	}
	return false
}

// values checks a literal that is compared with a fact of which the values are known.
func (n *names) values(factExpr, value ast.Expr) {
	root, path, ok := selection(factExpr)
	if !ok || slices.Contains(n.bound, root) {
		return
	}
	i, ok := n.vocabulary.index[dotted(root, path)]
	if !ok || n.vocabulary.variables[i].Never == nil {
		return
	}
	if s, ok := literal(value); ok {
		if hint, never := n.vocabulary.variables[i].Never(s); never {
			n.complain(value, hint, "%s is never %q", n.vocabulary.variables[i].Name, s)
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// Hint returns the possible meaning of a name that is no variable.
func (c *Compiler) Hint(name string) string {
	var members []string
	for i := range c.variables {
		if rest, ok := strings.CutPrefix(c.variables[i].Name, name+"."); ok {
			members = append(members, rest)
		}
	}
	if len(members) > 0 {
		return "it is a group of facts: add one of " + strings.Join(members, ", ")
	}
	if best := spelling.Nearest(name, c.names()); best != "" {
		return "did you mean " + best + "?"
	}
	group := name
	for {
		cut := strings.LastIndexByte(group, '.')
		if cut < 0 {
			return "facts begin with " + spelling.OrList(c.groups())
		}
		group = group[:cut]
		if hint := c.Hint(group); strings.HasPrefix(hint, "it is a group") {
			return strings.Replace(hint, "it is a group of facts: add one of", "the facts of "+group+" are", 1)
		}
	}
}

// names returns the names of all variables.
func (c *Compiler) names() []string {
	names := make([]string, len(c.variables))
	for i := range c.variables {
		names[i] = c.variables[i].Name
	}
	return names
}

// groups returns the first words of the variables, each with its dot, in their order.
func (c *Compiler) groups() []string {
	var groups []string
	for i := range c.variables {
		first, _, _ := strings.Cut(c.variables[i].Name, ".")
		if !slices.Contains(groups, first+".") {
			groups = append(groups, first+".")
		}
	}
	return groups
}
