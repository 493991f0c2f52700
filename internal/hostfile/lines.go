package hostfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A layout says on which lines the entries of a list stand. Lines count from 0.
type layout struct {
	blocks []block // in the order of their lines
	end    int     // the line before which a first entry goes
	free   []int   // the lines before which an entry may begin, ascending; nil: every line
	indent int     // columns before an entry
	render func(Entry) (string, error)
}

// A block is some lines of one entry.
type block struct {
	name       string
	start, end int
}

// editLines changes a list in a text in which each entry has lines of its own.
func editLines(src []byte, c Change, locate func(src []byte, list []string) (*layout, error)) ([]byte, error) {
	now, err := locate(src, c.List)
	if err != nil {
		return nil, err
	}
	fresh, bare, err := freshLines(&c, now, locate)
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	at, gone := now.end, map[int]bool{}
	first := true
	for _, b := range now.blocks {
		if !c.goes(b.name) {
			continue
		}
		if first {
			at, first = b.start, false
		}
		for i := b.start; i < b.end; i++ {
			gone[i] = true
		}
	}
	if at = now.freeFrom(at, gone); at > len(lines) {
		at = len(lines)
	}
	var out []byte
	ends := 0 // where fresh ends
	for i := 0; i <= len(lines); i++ {
		if i == at {
			out = appendLines(out, fresh, newlineOf(src))
			ends = len(out)
		}
		if i < len(lines) && !gone[i] {
			out = append(out, lines[i]...)
		}
	}
	if bare && ends == len(out) {
		out = bytes.TrimSuffix(out, []byte(newlineOf(src)))
	}
	return out, nil
}

// freeFrom returns the first line from one on before which an entry may begin, and that stays.
func (l *layout) freeFrom(at int, gone map[int]bool) int {
	if l.free == nil {
		return at
	}
	for _, i := range l.free {
		if i >= at && !gone[i] {
			return i
		}
	}
	return math.MaxInt
}

// appendLines appends text that begins on a line of its own.
func appendLines(out []byte, fresh, newline string) []byte {
	if fresh == "" {
		return out
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, newline...)
	}
	fresh = strings.ReplaceAll(strings.ReplaceAll(fresh, "\r\n", "\n"), "\n", newline)
	return append(out, fresh...)
}

// freshLines returns the lines of the new entries, those of the earlier text first, and whether the last of them had no
// line break there.
func freshLines(c *Change, now *layout, locate func([]byte, []string) (*layout, error)) (_ string, bare bool, _ error) {
	var b strings.Builder
	if len(c.Back) > 0 {
		earlier, err := locate(c.From, c.List)
		if err != nil {
			return "", false, err
		}
		lines := strings.SplitAfter(string(c.From), "\n")
		for _, block := range earlier.blocks {
			if !slices.Contains(c.Back, block.name) {
				continue
			}
			for _, line := range lines[block.start:min(block.end, len(lines))] {
				b.WriteString(shifted(line, now.indent-earlier.indent))
			}
			if bare = !strings.HasSuffix(b.String(), "\n"); bare {
				b.WriteByte('\n')
			}
		}
	}
	for _, e := range c.Put {
		text, err := now.render(e)
		if err != nil {
			return "", false, err
		}
		b.WriteString(text)
		bare = false
	}
	return b.String(), bare, nil
}

// shifted returns a line with more or less space before it.
func shifted(line string, by int) string {
	switch {
	case strings.TrimSpace(line) == "":
		return line
	case by >= 0:
		return strings.Repeat(" ", by) + line
	}
	return strings.TrimPrefix(line, strings.Repeat(" ", -by))
}

// plainValue returns a value of TOML or YAML as one of JSON.
func plainValue(v any) (any, error) {
	text, err := json.Marshal(named(v))
	if err != nil {
		return nil, &Error{Msg: "a value cannot be read"}
	}
	return decodeJSON(text)
}

// named returns the value with text in the place of values that JSON does not have.
func named(v any) any {
	switch v := v.(type) {
	case map[string]any:
		fresh := make(map[string]any, len(v))
		for k, e := range v {
			fresh[k] = named(e)
		}
		return fresh
	case map[any]any:
		fresh := make(map[string]any, len(v))
		for k, e := range v {
			fresh[fmt.Sprint(k)] = named(e)
		}
		return fresh
	case []any:
		fresh := make([]any, len(v))
		for i, e := range v {
			fresh[i] = named(e)
		}
		return fresh
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// commentsAbove returns the first line of the comments that stand directly above a line.
func commentsAbove(lines [][]byte, line int) int {
	for line > 0 && bytes.HasPrefix(bytes.TrimSpace(lines[line-1]), []byte("#")) {
		line--
	}
	return line
}
