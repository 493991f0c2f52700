package policy

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// A names is a walk over a parsed expression that looks at the names in it: CEL would call a misspelt fact an undeclared
// reference to its first word, and would take a misspelt value for one that never occurs.
type names struct {
	source     *ast.SourceInfo
	bound      []string // loop variables in scope
	complaints []complaint
	result     bool // a fact is read that is known only once there is a result
	arguments  bool // call.arguments is read
}

func checkNames(parsed *ast.AST) *names {
	n := &names{source: parsed.SourceInfo()}
	n.expr(parsed.Expr())
	return n
}

func (n *names) complain(e ast.Expr, hint, format string, args ...any) {
	at := n.source.GetStartLocation(e.ID())
	n.complaints = append(n.complaints, complaint{
		line: max(at.Line(), 0), col: max(at.Column(), 0), msg: fmt.Sprintf(format, args...), hint: hint,
	})
}

func (n *names) expr(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		n.selection(e)
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
	if slices.ContainsFunc(facts, func(f fact) bool { return strings.HasPrefix(f.name, c.IterVar()+".") }) {
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
	if call.IsMemberFunction() {
		n.expr(call.Target())
	}
	for _, arg := range call.Args() {
		n.expr(arg)
	}
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

// selection checks a fact, or a member of call.arguments or of a loop variable.
func (n *names) selection(e ast.Expr) {
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
		if i, ok := factIndex[name]; ok {
			n.result = n.result || facts[i].result
			n.arguments = n.arguments || name == argumentsName
			return
		}
		if _, ok := presenceIndex(name); ok {
			return
		}
	}
	if len(path) == 0 && isType(root) {
		return
	}
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand() // the place of a selection is its last dot; that of the fact is its first letter
	}
	n.complain(e, factHint(strings.Join(words, ".")), "unknown fact %s", strings.Join(words, "."))
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
	i, ok := factIndex[strings.Join(append([]string{root}, path...), ".")]
	if !ok {
		return
	}
	if s, ok := literal(value); ok && !facts[i].allows(s) {
		n.complain(value, valueHint(&facts[i], s), "%s is never %q", facts[i].name, s)
	}
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

func valueHint(f *fact, value string) string {
	if f.ofClasses() && value == "none" {
		return "none is the empty set: write size(" + f.name + ") == 0"
	}
	return didYouMean(value, f.values)
}

// factHint says what a name that is no fact may mean.
func factHint(name string) string {
	var members []string
	for i := range facts {
		if rest, ok := strings.CutPrefix(facts[i].name, name+"."); ok {
			members = append(members, rest)
		}
	}
	if len(members) > 0 {
		return "it is a group of facts: add one of " + strings.Join(members, ", ")
	}
	if best := nearest(name, factNames()); best != "" {
		return "did you mean " + best + "?"
	}
	group := name
	for {
		cut := strings.LastIndexByte(group, '.')
		if cut < 0 {
			return "facts begin with request., tool., response., session., server. or call."
		}
		group = group[:cut]
		if hint := factHint(group); strings.HasPrefix(hint, "it is a group") {
			return strings.Replace(hint, "it is a group of facts: add one of", "the facts of "+group+" are", 1)
		}
	}
}
