package sqlread

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wasilibs/go-pgquery/parser"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A node is a node or a value in the tree of a PostgreSQL statement, as libpg_query writes it in JSON: a member whose
// name begins with a capital is a node by its kind, any other a field.
type node = map[string]any

// postgreSQL parses the text as PostgreSQL does and walks over the whole tree.
func (r *Reader) postgreSQL(text string) bool {
	// A backslash before a quote is another text without standard_conforming_strings. The first word is checked here so
	// that the parser is not even started for a text that cannot be a query.
	if strings.Contains(text, `\'`) || !pgVerbs()[firstWord(text)] {
		return false
	}
	tree, ok := r.parse(text)
	if !ok {
		return false
	}
	var result struct {
		Stmts []struct {
			Stmt     node
			Location int `json:"stmt_location"`
			Length   int `json:"stmt_len"`
		}
	}
	if err := json.Unmarshal([]byte(tree), &result); err != nil || len(result.Stmts) != 1 {
		return false
	}
	w := &pgWalk{functions: map[string][]map[string]bool{}}
	return w.statement(result.Stmts[0].Stmt)
}

// patience is how long the parser may take. It needs seconds to start on a busy machine, and less than a millisecond
// afterwards.
const patience = time.Minute

// parse returns the tree in JSON. The parser is a program of its own in a memory of its own; if it fails other than by
// an error, or does not answer, that memory is not to be trusted again. It knows no context, so that its answer is
// waited for aside.
func (r *Reader) parse(text string) (tree string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return "", false
	}
	type answer struct {
		tree string
		err  error
		sane bool
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			_ = recover() // a is not sane then
			answers <- a
		}()
		a.tree, a.err = parser.ParseToJSON(text)
		a.sane = true
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answers:
		r.broken = !a.sane
		return a.tree, a.sane && a.err == nil
	case <-timer.C:
		r.broken = true
		return "", false
	}
}

// firstWord returns the first word of a text in capitals, without brackets and comments before it.
func firstWord(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n(")
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text, "*/")
		default:
			end := 0
			for end < len(text) && wordByte(text[end]) {
				end++
			}
			return strings.ToUpper(text[:end])
		}
	}
}

// A pgWalk knows the names in a tree of which the tree around them cannot tell.
type pgWalk struct {
	// PostgreSQL calls f(x) for x.f if x has no column f. Of a table or a subquery it calls only functions of rows; of
	// a function in FROM with a single value, any function of that value. These are the columns that each function in
	// FROM gives, by its alias, which may be that of several in different queries; "*" has those that are called as the
	// function is.
	functions map[string][]map[string]bool
}

func (w *pgWalk) statement(stmt node) bool {
	if len(stmt) != 1 {
		return false
	}
	for kind := range stmt {
		if kind != "SelectStmt" && kind != "ExplainStmt" && kind != "VariableShowStmt" {
			return false
		}
	}
	w.collect(stmt)
	return w.value(stmt)
}

// collect notes the names of functions in FROM.
func (w *pgWalk) collect(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			w.collect(item)
		}
	case node:
		if f, ok := v["RangeFunction"].(node); ok {
			w.function(f)
		}
		for _, member := range v {
			w.collect(member)
		}
	}
}

func (w *pgWalk) function(f node) {
	alias, _ := f["alias"].(node)
	name, ok := alias["aliasname"].(string)
	if !ok {
		name = "*"
	}
	gives := map[string]bool{}
	columns, _ := alias["colnames"].([]any)
	for _, column := range texts(columns) {
		gives[column] = true
	}
	definitions, _ := f["coldeflist"].([]any)
	for _, d := range definitions {
		if d, ok := d.(node); ok {
			definition, _ := d["ColumnDef"].(node)
			if column, ok := definition["colname"].(string); ok {
				gives[column] = true
			}
		}
	}
	w.functions[name] = append(w.functions[name], gives)
}

// value walks over anything in the tree: every kind of node and every field has to be on a list.
func (w *pgWalk) value(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !w.value(item) {
				return false
			}
		}
	case node:
		for name, member := range v {
			if c := name[0]; c >= 'A' && c <= 'Z' {
				inner, ok := member.(node)
				if !ok || !pgNodes()[name] || !w.named(name, inner) {
					return false
				}
			} else if !pgFields()[name] {
				return false
			}
			if !w.value(member) {
				return false
			}
		}
	}
	return true
}

// named checks the names in a node: those of functions, operators, types, methods and options.
func (w *pgWalk) named(kind string, n node) bool {
	switch kind {
	case "FuncCall":
		return builtIn(n["funcname"], pgFunctions)
	case "A_Expr":
		return builtIn(n["name"], pgOperators)
	case "SubLink":
		return n["operName"] == nil || builtIn(n["operName"], pgOperators)
	case "SortBy":
		return n["useOp"] == nil || builtIn(n["useOp"], pgOperators)
	case "TypeCast", "ColumnDef", "JsonOutput":
		t, ok := n["typeName"].(node)
		return ok && w.typeName(t)
	case "RangeTableSample":
		return builtIn(n["method"], pattern.Words("bernoulli system"))
	case "DefElem":
		name, _ := n["defname"].(string)
		return pgOptions()[name]
	case "ColumnRef":
		fields, _ := n["fields"].([]any)
		return w.column(texts(fields))
	case "A_Indirection":
		fields, _ := n["indirection"].([]any)
		for _, name := range texts(fields) {
			if !pgColumns()[name] {
				return false
			}
		}
	}
	return true
}

// column checks a column of a function in FROM.
func (w *pgWalk) column(fields []string) bool {
	if len(fields) < 2 {
		return true
	}
	of, name := fields[len(fields)-2], fields[len(fields)-1]
	if pgColumns()[name] {
		return true
	}
	for _, gives := range append(slices.Clip(w.functions[of]), w.functions["*"]...) {
		if !gives[name] {
			return false
		}
	}
	return true
}

// typeName checks a type. Of those that users make only enumerations are cast to in queries; a name says not which it
// is, and casts are functions, so only built-in types are on the list.
func (w *pgWalk) typeName(t node) bool {
	return t["pct_type"] == nil && t["setof"] == nil && builtIn(t["names"], pgTypes)
}

// builtIn reports whether a name, alone or in the schema of the system, is on the list.
func builtIn(names any, list func() map[string]bool) bool {
	parts, ok := names.([]any)
	if !ok {
		return false
	}
	name := texts(parts)
	if len(name) != len(parts) {
		return false
	}
	switch len(name) {
	case 1:
		return list()[name[0]]
	case 2:
		return name[0] == "pg_catalog" && list()[name[1]]
	}
	return false
}

// texts returns the texts among the nodes.
func texts(nodes []any) []string {
	var all []string
	for _, n := range nodes {
		if n, ok := n.(node); ok {
			if s, ok := n["String"].(node); ok {
				text, _ := s["sval"].(string)
				all = append(all, text)
			}
		}
	}
	return all
}
