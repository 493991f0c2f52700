package document

import "unicode"

// Locate returns the place in the file of a place in a scalar's value: line from 1 and col from 0, as CEL counts. YAML
// folds lines, strips indentation and unescapes, so the value is laid along the source: white space matches any
// white space, and excess characters of the source are skipped.
func (d *Document) Locate(s Scalar, line, col int) Mark {
	if line < 1 {
		return s.At
	}
	value := []rune(s.Value)
	target := 0
	for l := 1; l < line && target < len(value); target++ {
		if value[target] == '\n' {
			l++
		}
	}
	target = min(target+col, len(value))

	c := cursor{lines: d.lines, at: s.Start}
	for i := 0; i < target; i++ {
		if unicode.IsSpace(value[i]) {
			continue
		}
		if !c.find(value[i]) {
			return s.At
		}
		c.step()
	}
	if target < len(value) && !unicode.IsSpace(value[target]) && !c.find(value[target]) {
		return s.At
	}
	return c.at
}

// A cursor is a place that moves over the lines of a file.
type cursor struct {
	lines []string
	at    Mark
	runes []rune // of the line at, once it was looked at
	line  int    // that line
}

// find moves to the next r, at the cursor or after it.
func (c *cursor) find(r rune) bool {
	for c.at.Line >= 1 && c.at.Line <= len(c.lines) {
		if c.line != c.at.Line {
			c.line, c.runes = c.at.Line, []rune(c.lines[c.at.Line-1])
		}
		for c.at.Col <= len(c.runes) {
			if c.runes[c.at.Col-1] == r {
				return true
			}
			c.at.Col++
		}
		c.at = Mark{c.at.Line + 1, 1}
	}
	return false
}

func (c *cursor) step() { c.at.Col++ }
