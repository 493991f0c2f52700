package policy

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// Limits of one expression. They keep load time short; no rule for people to read comes near them.
const (
	maxExpression = 32 << 10 // characters
	maxNodes      = 4096
	maxNesting    = 100 // levels of parentheses and calls
	maxLoops      = 2   // comprehensions inside each other
	maxRegexp     = 1000
)

// A compiler turns expressions into programs.
type compiler struct{ env *cel.Env }

// An expression is a compiled condition.
type expression struct {
	program cel.Program
	cost    uint64 // what it costs at most, in CEL's units; maxCost if it is limited
	limited bool   // the cost has no useful bound at load, so it is counted at run time
	result  bool   // it reads a fact that is known only once there is a result
}

// A complaint is a mistake in an expression, at a line (from 1) and column (from 0) of its text; line 0 if it is
// of the whole expression.
type complaint struct {
	line, col int
	msg, hint string
}

// theCompiler returns the one compiler: it does not change, and it takes longer to make than a policy takes to load.
var theCompiler = sync.OnceValues(newCompiler)

func newCompiler() (*compiler, error) {
	opts := []cel.EnvOption{
		cel.ClearMacros(),
		cel.Macros(hasMacro(), cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro,
			cel.MapMacro, cel.MapFilterMacro, cel.FilterMacro),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegexp),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(maxLoops)),
	}
	for i := range facts {
		opts = append(opts, cel.Variable(facts[i].name, facts[i].typ))
		if facts[i].has != nil {
			opts = append(opts, cel.Variable(facts[i].presence(), cel.BoolType))
		}
	}
	env, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("preparing the expression language: %w", err)
	}
	return &compiler{env}, nil
}

// hasMacro is CEL's has, which also takes facts: has(tool.declared.readOnlyHint) is whether the server said it.
func hasMacro() cel.Macro {
	return cel.GlobalMacro("has", 1, func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if root, path, ok := selection(args[0]); ok {
			if i, ok := factIndex[strings.Join(append([]string{root}, path...), ".")]; ok {
				if facts[i].has == nil {
					return eh.NewLiteral(types.True), nil
				}
				return eh.NewIdent(facts[i].presence()), nil
			}
		}
		return cel.HasMacro.Expander()(eh, target, args)
	})
}

// selection takes a.b.c apart: its root and its path.
func selection(e ast.Expr) (root string, path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), nil, true
	case ast.SelectKind:
		sel := e.AsSelect()
		root, path, ok = selection(sel.Operand())
		return root, append(path, sel.FieldName()), ok
	}
	return "", nil, false
}

// compile returns the expression, or what is wrong with it.
func (c *compiler) compile(text string) (expression, []complaint) {
	parsed, issues := c.env.Parse(text)
	if issues.Err() != nil {
		return expression{}, complaints(issues)
	}
	names := checkNames(parsed.NativeRep())
	if len(names.complaints) > 0 {
		return expression{}, names.complaints
	}
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		return expression{}, complaints(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return expression{}, []complaint{{
			msg:  fmt.Sprintf("the expression is of type %s, not bool", cel.FormatCELType(t)),
			hint: "compare it with something, for example == true",
		}}
	}
	x := expression{result: names.result}
	if bad := c.bound(&x, checked, names.arguments); bad != nil {
		return expression{}, []complaint{*bad}
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if x.limited {
		options = append(options, cel.CostTracking(nil), cel.CostLimit(maxCost))
	}
	program, err := c.env.Program(checked, options...)
	if err != nil {
		return expression{}, []complaint{{msg: err.Error()}}
	}
	x.program = program
	return x, nil
}

// complaints translates what CEL reports.
func complaints(issues *cel.Issues) []complaint {
	var all []complaint
	for _, e := range issues.Errors() {
		msg := strings.TrimSuffix(e.Message, " (in container '')")
		msg, _, _ = strings.Cut(strings.Replace(msg, "Syntax error: ", "syntax error: ", 1), " expecting {")
		c := complaint{msg: msg, hint: hintFor(msg)}
		if line := e.Location.Line(); line > 0 {
			c.line, c.col = line, max(e.Location.Column(), 0)
		}
		all = append(all, c)
	}
	return all
}

// hintFor returns the remedy for the commonest mistakes.
func hintFor(msg string) string {
	switch {
	case strings.Contains(msg, "token recognition error at: '&"), strings.Contains(msg, "token recognition error at: '|"):
		return "and is written &&, or is written ||"
	case strings.Contains(msg, "token recognition error at: '="):
		return "equality is written =="
	case strings.HasSuffix(msg, "input '<EOF>'"):
		return "the expression ends too early; in YAML, a # after a space begins a comment"
	case msg == "invalid matches argument":
		return "the pattern is a regular expression in the syntax of RE2"
	case strings.HasPrefix(msg, "undeclared reference to"):
		return "the functions are those of CEL's standard library"
	case strings.HasPrefix(msg, "found no matching overload for '_==_'") && strings.Contains(msg, "list(string)"):
		return `whether a set holds a value is written "value" in set`
	}
	return ""
}
