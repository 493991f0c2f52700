package expression

import "strings"

// ShellCommand is shell.command: the first word of a command line, as it is written; "" if the line is more than one simple
// command with plain or quoted words: if it has operators, redirections, expansions, patterns, escapes, assignments before
// the command, or comments. What the command does with its words is not looked at.
func ShellCommand(line string) string {
	line = strings.Trim(line, " \t\n")
	words := 0
	var first strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
			continue
		case c == '#':
			return ""
		}
		end, ok := word(line, i, func(part string) {
			if words == 0 {
				first.WriteString(part)
			}
		})
		if !ok {
			return ""
		}
		words++
		i = end
	}
	if strings.Contains(first.String(), "=") {
		return ""
	}
	return first.String()
}

// word reads one word of a line from i on and hands its parts over, without quotes. It returns where the word ends, and
// false if the shell would do anything with the word but take it.
func word(line string, i int, take func(string)) (int, bool) {
	for i < len(line) {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			return i, true
		case c == '\'' || c == '"':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 || c == '"' && strings.ContainsAny(line[i+1:i+1+n], "$`\\!") {
				return 0, false
			}
			if strings.ContainsAny(line[i+1:i+1+n], "\r\n\x00") {
				return 0, false
			}
			take(line[i+1 : i+1+n])
			i += n + 2
		case c < ' ' || c == 0x7f || strings.IndexByte(";&|`$()<>{}*?[]~!\\^", c) >= 0:
			return 0, false
		default:
			take(line[i : i+1])
			i++
		}
	}
	return i, true
}
