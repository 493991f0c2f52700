package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/sqlread"
)

// A helper is a function of one or two texts that conditions may call by a name with a dot. It has an answer for every
// text.
type helper struct {
	name string
	one  func(string) ref.Val         // nil if it takes two
	two  func(string, string) ref.Val // nil if it takes one
	typ  *cel.Type                    // of the answer

	sql   func(r *sqlread.Reader, text, dialect string) bool // nil but for one
	words []string                                           // the values that the second text may have, as a literal; nil: any text
	units uint64                                             // the cost of a call beside that of its texts, in CEL's units
}

func answer(f func(string) string) func(string) ref.Val {
	return func(s string) ref.Val { return types.String(f(s)) }
}

func truth(f func(string) bool) func(string) ref.Val {
	return func(s string) ref.Val { return types.Bool(f(s)) }
}

func truthOfTwo(f func(string, string) bool) func(string, string) ref.Val {
	return func(a, b string) ref.Val { return types.Bool(f(a, b)) }
}

// helpers are all helper functions, by name.
var helpers = []helper{
	{name: "aws.noSecrets", one: truth(cmdline.AWSNoSecrets), typ: cel.BoolType},
	{name: "aws.readOnly", one: truth(cmdline.AWSReadOnly), typ: cel.BoolType},
	{name: "email.domain", one: answer(EmailDomain), typ: cel.StringType},
	{name: "host.internal", one: truth(HostInternal), typ: cel.BoolType},
	{name: "host.within", two: truthOfTwo(HostWithin), typ: cel.BoolType},
	{name: "path.ext", one: answer(PathExt), typ: cel.StringType},
	{name: "path.noSecrets", one: truth(PathNoSecrets), typ: cel.BoolType},
	{name: "path.plain", one: truth(PathPlain), typ: cel.BoolType},
	{name: "path.under", two: truthOfTwo(PathUnder), typ: cel.BoolType},
	{name: "shell.command", one: answer(ShellCommand), typ: cel.StringType},
	{name: "shell.noSecrets", one: truth(ShellNoSecrets), typ: cel.BoolType},
	{name: "shell.readOnly", one: truth(cmdline.ReadOnly), typ: cel.BoolType},
	{name: "sql.noSecrets", sql: (*sqlread.Reader).NoSecrets, typ: cel.BoolType, words: sqlread.Dialects(), units: 10_000},
	{name: "sql.readOnly", sql: (*sqlread.Reader).ReadOnly, typ: cel.BoolType, words: sqlread.Dialects(), units: 10_000},
	{name: "url.host", one: answer(URLHost), typ: cel.StringType},
	{name: "url.path", one: answer(URLPath), typ: cel.StringType},
	{name: "url.reference", one: truth(URLReference), typ: cel.BoolType},
	{name: "url.scheme", one: answer(URLScheme), typ: cel.StringType},
}

func helperNames() []string {
	names := make([]string, len(helpers))
	for i := range helpers {
		names[i] = helpers[i].name
	}
	return names
}

// helperNamed returns the helper of a name, and nil if there is none.
func helperNamed(name string) *helper {
	if i := slices.IndexFunc(helpers, func(h helper) bool { return h.name == name }); i >= 0 {
		return &helpers[i]
	}
	return nil
}

// isHelperGroup reports whether the word is the part before the dot of a helper's name.
func isHelperGroup(word string) bool {
	return slices.ContainsFunc(helpers, func(h helper) bool { return strings.HasPrefix(h.name, word+".") })
}

// helperOptions declares the helpers to CEL.
func helperOptions(reader *sqlread.Reader) []cel.EnvOption {
	options := make([]cel.EnvOption, len(helpers))
	for i, h := range helpers {
		if h.sql != nil {
			h.two = truthOfTwo(func(text, dialect string) bool { return h.sql(reader, text, dialect) })
		}
		overload := strings.ReplaceAll(h.name, ".", "_")
		if h.one != nil {
			options[i] = cel.Function(h.name, cel.Overload(overload, []*cel.Type{cel.StringType}, h.typ,
				cel.UnaryBinding(func(v ref.Val) ref.Val {
					s, ok := v.(types.String)
					if !ok {
						return types.MaybeNoSuchOverloadErr(v)
					}
					return h.one(string(s))
				})))
			continue
		}
		options[i] = cel.Function(h.name, cel.Overload(overload, []*cel.Type{cel.StringType, cel.StringType}, h.typ,
			cel.BinaryBinding(func(v, w ref.Val) ref.Val {
				a, ok := v.(types.String)
				b, also := w.(types.String)
				if !ok || !also {
					return types.NewErr("no such overload: %s(%s, %s)", h.name, v.Type().TypeName(), w.Type().TypeName())
				}
				return h.two(string(a), string(b))
			})))
	}
	return options
}
