package detect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Locate fills in the members that findings are in, of a text that is JSON. Each list of findings is in the order of
// their places. Paths are shown and kept where no value may be: a name of a member stands in them as "…" if the value
// of any of the findings is in it, if it holds the bytes of one, and if the lists are not whole, since a value may be
// missing there. It takes a pass for each list, and on text that is no JSON gives up where that shows.
func Locate(text []byte, whole bool, lists ...[]Finding) {
	p := placer{text: text, whole: whole}
	for _, found := range lists {
		for _, f := range found {
			p.values = append(p.values, f.ValueOffset)
			if f.ValueSize >= leastNamed && f.valueEnd() <= len(text) {
				p.copies = append(p.copies, text[f.ValueOffset:f.valueEnd()])
			}
		}
	}
	slices.Sort(p.values)
	for _, found := range lists {
		at := p
		at.found = found
		at.locate()
	}
}

// leastNamed is how long a value is that is looked for in names, in bytes. Shorter ones are in many words.
const leastNamed = 4

func (p *placer) locate() {
	text := p.text
	for i := 0; i < len(text) && len(p.found) > 0; {
		switch c := text[i]; c {
		case '{', '[':
			if len(p.stack) >= maxNesting {
				return
			}
			p.stack = append(p.stack, place{array: c == '['})
			i++
		case '}', ']':
			if len(p.stack) == 0 {
				return
			}
			p.stack = p.stack[:len(p.stack)-1]
			i++
		case ',':
			p.next()
			i++
		case '"':
			end := stringEnd(text, i)
			p.string(i, end)
			i = end
		default:
			p.visit(i + 1)
			i++
		}
	}
}

// maxNesting is how deep members are followed.
const maxNesting = 1000

// A placer knows where in a document it is.
type placer struct {
	text   []byte
	whole  bool      // no value is missing
	found  []Finding // that are still to come
	values []int     // where values begin, from the last name on
	copies [][]byte  // the values
	stack  []place
}

// A place is a member of an object, or an element of an array.
type place struct {
	array bool
	index int
	name  []byte // a literal
}

// next goes to the next member or element.
func (p *placer) next() {
	if n := len(p.stack); n > 0 {
		p.stack[n-1].index++
		p.stack[n-1].name = nil
	}
}

// string passes a string, which is the name of a member if it is the first of one.
func (p *placer) string(start, end int) {
	if n := len(p.stack); n > 0 && !p.stack[n-1].array && p.stack[n-1].name == nil {
		p.stack[n-1].name = p.named(start, end)
		return // a finding from here on is in the member, or assigned to its name
	}
	p.visit(end)
}

// hiddenName stands for a name of a member that is a value, or holds one.
const hiddenName = `"…"`

// named returns the name of a member as paths have it.
func (p *placer) named(start, end int) []byte {
	for len(p.values) > 0 && p.values[0] < start {
		p.values = p.values[1:]
	}
	if len(p.values) > 0 && p.values[0] < end {
		return []byte(hiddenName)
	}
	return p.text[start:end]
}

// visit gives the findings before a place the path.
func (p *placer) visit(end int) {
	for len(p.found) > 0 && p.found[0].Offset < end {
		p.found[0].Path = p.path()
		p.found = p.found[1:]
	}
}

// path returns the JSON Pointer (RFC 6901).
func (p *placer) path() string {
	var b strings.Builder
	for _, at := range p.stack {
		b.WriteByte('/')
		if at.array {
			b.WriteString(strconv.Itoa(at.index))
			continue
		}
		if !p.whole || slices.ContainsFunc(p.copies, func(value []byte) bool { return bytes.Contains(at.name, value) }) {
			at.name = []byte(hiddenName)
		}
		name, err := strconv.Unquote(string(at.name))
		if err != nil {
			name = strings.Trim(string(at.name), `"`)
		}
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// stringEnd returns the place behind the string that begins at a quote.
func stringEnd(text []byte, start int) int {
	for at := start + 1; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return len(text)
		}
		at += n
		escapes := at
		for text[escapes-1] == '\\' {
			escapes--
		}
		if (at-escapes)%2 == 0 {
			return at + 1
		}
	}
}
