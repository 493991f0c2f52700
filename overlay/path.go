package overlay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// maxSteps is how deep a path may lead.
const maxSteps = 16

// A path leads into a JSON value.
type path []step

// A step leads from a value to one inside it: a member, an element, or every element.
type step struct {
	member string
	index  int // of an element, if member is ""; every: all of them
}

const every = -1

// parsePath reads name, a.b, list[*].b, list[0]. With root, the path begins with $ and may be nothing else.
func parsePath(s string, root bool) (path, error) {
	if root {
		rest, ok := strings.CutPrefix(s, "$")
		if !ok {
			return nil, errors.New("a path into a result begins with $")
		}
		s = rest
	} else {
		s = "." + s
	}
	var p path
	for s != "" {
		var next step
		var err error
		if next, s, err = parseStep(s); err != nil {
			return nil, err
		}
		if p = append(p, next); len(p) > maxSteps {
			return nil, fmt.Errorf("more than %d steps", maxSteps)
		}
	}
	return p, nil
}

func parseStep(s string) (next step, rest string, err error) {
	switch s[0] {
	case '.':
		s = s[1:]
		end := strings.IndexAny(s, ".[]*")
		if end < 0 {
			end = len(s)
		}
		if end == 0 {
			return step{}, "", errors.New("a name is missing after the dot")
		}
		return step{member: s[:end]}, s[end:], nil
	case '[':
		inside, rest, ok := strings.Cut(s[1:], "]")
		if inside == "*" && ok {
			return step{index: every}, rest, nil
		}
		n, err := strconv.ParseUint(inside, 10, 16)
		if err != nil || !ok {
			return step{}, "", errors.New("write [*] for every element, or its number, as in [0]")
		}
		return step{index: int(n)}, rest, nil
	}
	return step{}, "", fmt.Errorf("%q is out of place", s[:1])
}

// String returns the path in the form that parsePath reads, without the root.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.String())
	}
	return strings.TrimPrefix(b.String(), ".")
}

func (s step) String() string {
	switch {
	case s.member != "":
		return "." + s.member
	case s.index == every:
		return "[*]"
	}
	return "[" + strconv.Itoa(s.index) + "]"
}

// walk calls visit with every value that the path leads to, and the way to it with numbers for stars, until visit
// returns false. It reports whether it went to the end.
func (p path) walk(value []byte, way string, visit func(way string, value []byte) bool) bool {
	if len(p) == 0 {
		return visit(strings.TrimPrefix(way, "."), value)
	}
	s, rest := p[0], p[1:]
	if s.member != "" {
		inner, ok := rawjson.Get(value, s.member)
		return !ok || rest.walk(inner, way+s.String(), visit)
	}
	i := 0
	for element := range rawjson.Elements(value) {
		if s.index == every || s.index == i {
			if !rest.walk(element, way+"["+strconv.Itoa(i)+"]", visit) {
				return false
			}
		}
		i++
	}
	return true
}

// text returns the only text or number that the path leads to; "" if there is none.
func (p path) text(value []byte) (text string) {
	p.walk(value, "", func(_ string, v []byte) bool {
		if s, ok := rawjson.String(v); ok {
			text = s
		} else if rawjson.Kind(v) == '0' {
			text = strings.TrimSpace(string(v))
		}
		return false
	})
	return text
}

// A template is a URI with the places of arguments in it.
type template []part

// A part is a literal, or an argument.
type part struct {
	text     string // the literal; of an argument, its path as it is written
	argument path   // nil: a literal
	optional bool   // without the argument there is no URI
}

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		literal, rest, found := strings.Cut(s, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("a } without its {")
		}
		if literal != "" {
			t = append(t, part{text: literal})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("a { without its }")
		}
		name, optional := strings.CutSuffix(name, "?")
		p, err := parsePath(name, false)
		if err != nil {
			return nil, fmt.Errorf("{%s}: %w", name, err)
		}
		t = append(t, part{text: name, argument: p, optional: optional})
		s = after
	}
	return t, nil
}
