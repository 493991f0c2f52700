package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
)

// A diffLine is a line of a difference. Text is plain.
type diffLine struct {
	Mark string // "-", "+", " " or "…", for lines that are left out
	Text string
}

// maxContext is how many lines that did not change are shown on each side of those that did.
const maxContext = 3

// Lines returns the changes line by line: the old text, then the new one, with some of the unchanged lines around. JSON
// is indented first.
func (c Change) Lines() []diffLine {
	before, after := splitLines(c.Before), splitLines(c.After)
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	var out []diffLine
	add := func(mark string, lines []string) {
		for _, line := range lines {
			out = append(out, diffLine{mark, plain.Text(line, 0)})
		}
	}
	skipped := func(n int) {
		if n > 0 {
			out = append(out, diffLine{"…", fmt.Sprintf("%d lines stay the same", n)})
		}
	}
	skipped(head - maxContext)
	add(" ", before[max(0, head-maxContext):head])
	add("-", before[head:len(before)-tail])
	add("+", after[head:len(after)-tail])
	end := len(after) - tail
	add(" ", after[end:end+min(tail, maxContext)])
	skipped(tail - maxContext)
	return out
}

// splitLines returns the lines of a text, or of JSON indented; none of "".
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	var b bytes.Buffer
	if strings.HasPrefix(s, "{") && json.Indent(&b, []byte(s), "", "  ") == nil {
		s = b.String()
	}
	return strings.Split(s, "\n")
}
