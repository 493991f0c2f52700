package approval

import (
	"fmt"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// displayed returns the call in the words of its server (extension io.modelcontextprotocol/display-templates). A
// template may leave out the argument that matters, so this stands behind all arguments and tells how many it leaves
// out (Security Implications). The guard has the template of a trusted server only.
func displayed(q *guard.Question) string {
	if q.Display == "" {
		return ""
	}
	args, _ := rawjson.Get(q.Arguments, "arguments")
	text, all, without := filled(q.Display, args)
	quoted := plain.Quote(text, maxValue)
	if quoted != plain.Quote(text, 0) { // nobody knows which of them are in the part that is left
		without = all
	}
	line := fmt.Sprintf("In the words of server %s: %s", plain.Text(q.Server, maxName), quoted)
	switch without {
	case 0:
		return line
	case 1:
		return line + ", which leaves out 1 argument"
	}
	return line + fmt.Sprintf(", which leaves out %d arguments", without)
}

// placeholder is a name in braces, or a brace that is written twice.
var placeholder = pattern.New(`\{\{|\}\}|\{[^{}]*\}`)

// filled returns the template with the arguments that it names as JSON, so that none of them passes for words of the
// server, the number of the arguments, and of those that it does not show whole. Values that are neither text nor
// number nor truth value are dots (Rendering semantics).
func filled(template string, args []byte) (text string, all, without int) {
	values, whole := map[string]string{}, map[string]bool{}
	for name, value := range rawjson.Members(args) {
		values[name] = "..."
		switch rawjson.Kind(value) {
		case '{', '[', 'n':
		default:
			values[name] = plain.Cut(string(value), maxName)
			whole[name] = values[name] == string(value)
		}
	}
	named := map[string]bool{}
	text = placeholder().ReplaceAllStringFunc(template, func(found string) string {
		switch found {
		case "{{", "}}":
			return found[:1]
		}
		name := found[1 : len(found)-1]
		value, ok := values[name]
		if !ok {
			return "..."
		}
		if whole[name] {
			named[name] = true
		}
		return value
	})
	return text, len(values), len(values) - len(named)
}
