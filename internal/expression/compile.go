package expression

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/weir-mcp/weir/internal/sqlread"
)

// Limits of one expression. They keep load time short; no rule for people to read comes near them.
const (
	maxExpression = 32 << 10 // characters
	maxNodes      = 4096
	maxNesting    = 100 // levels of parentheses and calls
	maxLoops      = 2   // comprehensions inside each other
	maxRegexp     = 1000
)

// A Compiler turns texts into conditions over one vocabulary. Making one takes longer than compiling many texts.
type Compiler struct {
	env       *cel.Env
	variables []Variable
	index     map[string]int // by name
}

// A Complaint is a mistake in a condition, at a line (from 1) and column (from 0) of its text; line 0 if it is of the
// whole text.
type Complaint struct {
	Line, Col int
	Msg, Hint string
}

// New returns the compiler of a vocabulary.
func New(variables []Variable) (*Compiler, error) {
	c := &Compiler{variables: variables, index: make(map[string]int, len(variables))}
	opts := []cel.EnvOption{
		cel.ClearMacros(),
		cel.Macros(c.hasMacro(), cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro,
			cel.MapMacro, cel.MapFilterMacro, cel.FilterMacro),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegexp),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(maxLoops)),
	}
	opts = append(opts, helperOptions(new(sqlread.Reader))...)
	for i, v := range variables {
		c.index[v.Name] = i
		opts = append(opts, cel.Variable(v.Name, v.Type))
		if v.Optional {
			opts = append(opts, cel.Variable(Presence(v.Name), cel.BoolType))
		}
	}
	env, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("preparing the expression language: %w", err)
	}
	c.env = env
	return c, nil
}

// hasMacro is CEL's has, which also takes variables: has(tool.declared.readOnlyHint) is whether the server said it.
func (c *Compiler) hasMacro() cel.Macro {
	return cel.GlobalMacro("has", 1, func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if root, path, ok := selection(args[0]); ok {
			if i, ok := c.index[dotted(root, path)]; ok {
				if !c.variables[i].Optional {
					return eh.NewLiteral(types.True), nil
				}
				return eh.NewIdent(Presence(c.variables[i].Name)), nil
			}
		}
		return cel.HasMacro.Expander()(eh, target, args)
	})
}

func dotted(root string, path []string) string {
	return strings.Join(append([]string{root}, path...), ".")
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

// Compile returns the condition, or its problems.
func (c *Compiler) Compile(text string) (*Condition, []Complaint) {
	parsed, issues := c.env.Parse(text)
	if issues.Err() != nil {
		return nil, complaints(issues)
	}
	names := c.checkNames(parsed.NativeRep())
	if len(names.complaints) > 0 {
		return nil, names.complaints
	}
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		return nil, complaints(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, []Complaint{{
			Msg:  fmt.Sprintf("the expression is of type %s, not bool", cel.FormatCELType(t)),
			Hint: "compare it with something, for example == true",
		}}
	}
	x := &Condition{reads: names.reads}
	if bad := c.bound(x, checked); bad != nil {
		return nil, []Complaint{*bad}
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if x.Limited {
		options = append(options, cel.CostTracking(actualCost{}), cel.CostLimit(MaxCost))
	}
	program, err := c.env.Program(checked, options...)
	if err != nil {
		return nil, []Complaint{{Msg: err.Error()}}
	}
	x.program = program
	return x, nil
}

// complaints translates the issues that CEL reports.
func complaints(issues *cel.Issues) []Complaint {
	var all []Complaint
	for _, e := range issues.Errors() {
		msg := strings.TrimSuffix(e.Message, " (in container '')")
		msg, _, _ = strings.Cut(strings.Replace(msg, "Syntax error: ", "syntax error: ", 1), " expecting {")
		c := Complaint{Msg: msg, Hint: hintFor(msg)}
		if line := e.Location.Line(); line > 0 {
			c.Line, c.Col = line, max(e.Location.Column(), 0)
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
		return "the functions are those of CEL's standard library and " + strings.Join(helperNames(), ", ")
	case strings.HasPrefix(msg, "found no matching overload for '_==_'") && strings.Contains(msg, "list(string)"):
		return `whether a set holds a value is written "value" in set`
	}
	return ""
}
