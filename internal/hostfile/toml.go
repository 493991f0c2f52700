package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// decodeTOML reads TOML.
func decodeTOML(src []byte) (any, error) {
	v := map[string]any{}
	if err := toml.Unmarshal(src, &v); err != nil {
		e := &Error{Msg: "not TOML that can be read", Hint: "check quotes, brackets and repeated names"}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			e.Line, e.Col = at.Position()
		}
		return nil, e
	}
	return plainValue(v)
}

// editTOML changes a list whose entries are tables, or members with dotted names.
func editTOML(src []byte, c Change) ([]byte, error) { return editLines(src, c, locateTOML) }

// locateTOML finds the lines of each expression below a list. An entry goes where a table may begin: before the next
// one, or last.
func locateTOML(src []byte, list []string) (*layout, error) {
	lines := bytes.SplitAfter(src, []byte("\n"))
	l := &layout{end: len(lines), free: []int{}}
	l.render = func(e Entry) (string, error) { return renderTOML(e, list) }
	var p unstable.Parser
	p.Reset(src)
	var table []string
	var started []block // every expression, also those of other tables
	for p.NextExpression() {
		e := p.Expression()
		key, offset := keyOfTOML(&p, e)
		line := commentsAbove(lines, bytes.Count(src[:offset], []byte("\n")))
		if e.Kind == unstable.KeyValue {
			key = slices.Concat(table, key)
		} else {
			table = key
			l.free = append(l.free, line)
		}
		b := block{start: line}
		if len(key) > len(list) && slices.Equal(key[:len(list)], list) {
			b.name = key[len(list)]
		}
		started = append(started, b)
	}
	if p.Error() != nil {
		return nil, &Error{Msg: "not TOML that can be read"}
	}
	for i, b := range started {
		b.end = len(lines)
		if i+1 < len(started) {
			b.end = started[i+1].start
		}
		if b.name != "" {
			l.blocks = append(l.blocks, b)
		}
	}
	return l, nil
}

// keyOfTOML returns the name of an expression, and where it begins.
func keyOfTOML(p *unstable.Parser, e *unstable.Node) (key []string, offset int) {
	offset = -1
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if offset < 0 {
			offset = int(n.Raw.Offset)
		}
		key = append(key, string(n.Data))
	}
	return key, max(0, offset)
}

// renderTOML writes an entry as a table, with its mappings as tables below it.
func renderTOML(e Entry, list []string) (string, error) {
	object, ok := valueOf(e.Value).(map[string]any)
	if !ok {
		return "", &Error{Msg: "a server must be an object"}
	}
	var head, tables strings.Builder
	name := tomlName(append(slices.Clone(list), e.Name))
	head.WriteString("[" + name + "]\n")
	for _, key := range inOrder(object) {
		if sub, ok := object[key].(map[string]any); ok {
			tables.WriteString("[" + name + "." + tomlName([]string{key}) + "]\n")
			for _, k := range slices.Sorted(maps.Keys(sub)) {
				tables.WriteString(tomlName([]string{k}) + " = " + flow(sub[k]) + "\n")
			}
			continue
		}
		head.WriteString(tomlName([]string{key}) + " = " + flow(object[key]) + "\n")
	}
	return head.String() + tables.String() + "\n", nil
}

func tomlName(path []string) string {
	quoted := make([]string, len(path))
	for i, part := range path {
		if quoted[i] = part; !isWord(part) {
			quoted[i] = strings.ReplaceAll(string(rawjson.Quote(part)), "\x7f", `\u007F`)
		}
	}
	return strings.Join(quoted, ".")
}

// flow writes a value on one line, in the part of JSON that TOML and YAML share.
func flow(v any) string {
	if array, ok := v.([]any); ok {
		parts := make([]string, len(array))
		for i, e := range array {
			parts[i] = flow(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `""`
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007F`)
}
