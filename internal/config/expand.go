package config

import (
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A flaw is a problem of a reference in a value.
type flaw struct{ msg, hint string }

var (
	variable     = pattern.New(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$`)
	hostVariable = pattern.New(`^(?:userHome|workspaceFolder(?:Basename)?|pathSeparator|/|cwd|file\w*)$`)
)

// expand replaces ${NAME} and ${env:NAME} by the variable's value, and ${NAME:-default} by the default if the
// variable is unset or empty; the default ends at the first brace. $${ stands for a plain ${. Every other $ is
// an ordinary character. Flaws never quote more of s than the name of a variable.
func expand(s string, lookup func(string) (string, bool)) (string, []flaw) {
	var b strings.Builder
	var flaws []flaw
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), flaws
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		reference, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return b.String(), append(flaws, flaw{"a ${ without its }", "write $${ for a plain ${"})
		}
		value, f := evaluate(reference, lookup)
		if f != nil {
			flaws = append(flaws, *f)
		}
		b.WriteString(value)
		s = rest
	}
}

// evaluate returns the value of the reference between the braces.
func evaluate(reference string, lookup func(string) (string, bool)) (string, *flaw) {
	if strings.HasPrefix(reference, "input:") || strings.HasPrefix(reference, "command:") {
		return "", &flaw{"asks the editor for a value, which weir cannot do", "set a variable and write ${env:NAME}"}
	}
	if hostVariable().MatchString(reference) {
		return "", &flaw{"${" + reference + "} is known to the editor only", "write the path out"}
	}
	m := variable().FindStringSubmatch(reference)
	if m == nil {
		return "", &flaw{"a ${…} that is no variable", "write ${NAME} or ${NAME:-default}, or $${ for a plain ${"}
	}
	name, fallback, hasFallback := m[1], m[2], strings.Contains(reference, ":-")
	var value string
	var set bool
	if lookup != nil {
		value, set = lookup(name)
	}
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", &flaw{"the variable " + name + " is not set", "set it, or give a default: ${" + name + ":-…}"}
	}
	return value, nil
}
