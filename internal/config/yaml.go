package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// Limits of a file: both are far above any file that an operator writes, and keep the parser from quadratic work.
const (
	maxSource  = 1 << 20 // bytes
	maxNesting = 50      // brackets and braces, or dashes on one line
)

// readYAML fills the draft in from a weir.yaml.
func readYAML(d *Draft, src []byte) {
	if at, msg := unfit(src); msg != "" {
		d.Fault(at, "", "%s", msg)
		return
	}
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return
	}
	r := reader{d}
	if len(file.Docs) > 1 {
		d.Fault(placeOf(file.Docs[1].Body), "keep one document", "a second document in the file")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.Fault(Place{}, "begin with version: 1 and servers:", "the file is empty")
		return
	}
	readFile(r, file.Docs[0].Body)
}

// unfit refuses files that the parser should not see.
func unfit(src []byte) (Place, string) {
	if len(src) > maxSource {
		return Place{}, fmt.Sprintf("the file is larger than %d bytes", maxSource)
	}
	line, depth, dashes := 1, 0, []byte(strings.Repeat("- ", maxNesting))
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			return Place{line, 1}, "the line is not UTF-8"
		case c == '\n':
			line++
		case c == '[' || c == '{':
			depth++
		case (c == ']' || c == '}') && depth > 0:
			depth--
		}
		if depth > maxNesting || bytes.HasPrefix(src[i:], dashes) {
			return Place{line, 1}, "nested too deep"
		}
		i += size
	}
	return Place{}, ""
}

// syntax records the problem that the YAML parser reports. Its messages name tokens of the grammar and no values.
func (d *Draft) syntax(err error) {
	var located yaml.Error
	if !errors.As(err, &located) {
		d.Fault(Place{}, "", "bad YAML")
		return
	}
	var at Place
	if t := located.GetToken(); t != nil && t.Position != nil {
		at = Place{t.Position.Line, t.Position.Column}
	}
	d.Fault(at, "check indentation, colons and quotes around here", "bad YAML: %s", located.GetMessage())
}
