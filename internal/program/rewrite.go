package program

import "go.starlark.net/syntax"

// Functions that only rewritten programs name: no name in Starlark has such a character.
const (
	readAll = "·all" // reads the hidden values in a value
	readOne = "·one" // reads a value that is hidden itself
)

// reading are the operators that are defined for other values than hidden ones. Without the rewriting some of them
// would be an error, and a comparison with a value of another type would be false whatever is hidden.
var reading = map[syntax.Token]bool{
	syntax.EQL: true, syntax.NEQ: true, syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true, syntax.IN: true, syntax.NOT_IN: true,
	syntax.MINUS: true, syntax.STAR: true, syntax.SLASH: true, syntax.SLASHSLASH: true, syntax.PERCENT: true,
	syntax.AMP: true, syntax.PIPE: true, syntax.CIRCUMFLEX: true, syntax.LTLT: true, syntax.GTGT: true,
}

// rewrite has operators read hidden values. No noninterference depends on it: a hidden value tells nothing that
// was not read.
func rewrite(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryExpr:
			if reading[n.Op] {
				n.X, n.Y = reads(readAll, n.X), reads(readAll, n.Y)
			}
		case *syntax.UnaryExpr:
			if n.X != nil && (n.Op == syntax.MINUS || n.Op == syntax.PLUS || n.Op == syntax.TILDE) {
				n.X = reads(readAll, n.X)
			}
		case *syntax.DotExpr:
			n.X = reads(readOne, n.X)
		case *syntax.SliceExpr:
			n.X = reads(readOne, n.X)
		case *syntax.IndexExpr:
			n.Y = reads(readOne, n.Y)
		}
		return true
	})
}

// reads returns the call of a function with an expression.
func reads(function string, x syntax.Expr) syntax.Expr {
	start, end := x.Span()
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: start, Name: function}, Lparen: start, Args: []syntax.Expr{x}, Rparen: end}
}
