package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Instructions returns the calls that a text asks for, in order: each comment of the form that the package comment
// shows. A comment whose arguments are not a JSON object asks for nothing.
func Instructions(text string) []Call {
	var calls []Call
	for _, m := range regexp.MustCompile(`(?s)<!--\s*AI:\s*call\s+([A-Za-z0-9_.-]+)\s+(.*?)-->`).FindAllStringSubmatch(text, -1) {
		var arguments map[string]any
		if json.Unmarshal([]byte(m[2]), &arguments) == nil && arguments != nil {
			calls = append(calls, Call{m[1], arguments})
		}
	}
	return calls
}

// fill replaces the placeholders in the strings of a call's arguments.
func fill(c Call, read map[string]string) (Call, error) {
	f := filler{read: read, placeholder: regexp.MustCompile(`\{\{([A-Za-z0-9_.-]+)(?:\|([a-z]+))?\}\}`)}
	filled := Call{c.Tool, make(map[string]any, len(c.Arguments))}
	for name, value := range c.Arguments {
		filled.Arguments[name] = f.value(value)
	}
	return filled, f.err
}

type filler struct {
	read        map[string]string
	placeholder *regexp.Regexp
	err         error // the first placeholder that stands for nothing
}

func (f *filler) value(v any) any {
	switch v := v.(type) {
	case string:
		return f.placeholder.ReplaceAllStringFunc(v, f.replace)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = f.value(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = f.value(x)
		}
		return out
	}
	return v
}

func (f *filler) replace(placeholder string) string {
	m := f.placeholder.FindStringSubmatch(placeholder)
	text, ok := f.read[m[1]]
	if !ok {
		f.fail(fmt.Errorf("nothing from %s to pass on", m[1]))
		return ""
	}
	switch m[2] {
	case "":
		return text
	case "summary":
		return summary(text)
	case "query":
		return url.QueryEscape(text)
	}
	f.fail(fmt.Errorf("unknown form %q in %s", m[2], placeholder))
	return ""
}

func (f *filler) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// summary returns the beginning of a text without markup: the nearest to reading that an agent without a model gets.
func summary(text string) string {
	const length = 160 // runes
	for _, markup := range []string{`(?s)<!--.*?-->`, `(?s)<(head|script|style)\b.*?</(head|script|style)>`, `(?s)<[^>]*>`} {
		text = regexp.MustCompile(markup).ReplaceAllString(text, " ")
	}
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > length {
		return string(runes[:length]) + "…"
	}
	return string(runes)
}
