package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/spelling"
)

// The bounds of values in a file.
const (
	maxWait       = 24 * time.Hour // of every duration
	minMaxMessage = 64 << 10
	maxMaxMessage = 1 << 30
)

// scalar returns the text of a string. It refuses a value that YAML reads as a number or a boolean: 1.10 and 0x10 would
// not come out as they were written.
func (r reader) scalar(m member, want string) (string, bool) {
	switch n := m.value.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	r.wrong(m, want)
	return "", false
}

func (r reader) text(p *string) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "text")
		if ok && s == "" {
			r.d.Fault(m.at, "remove it, or give it a value", "%s: needs a value", m.name)
		}
		*p = s
	}
}

func (r reader) texts(p *[]string) func(member) {
	return func(m member) {
		list, ok := m.value.(*ast.SequenceNode)
		if !ok {
			r.wrong(m, "a list, [a, b]")
			return
		}
		for i, v := range list.Values {
			e := member{name: m.name, pointer: m.pointer + Pointer(strconv.Itoa(i)), at: placeOf(v), value: v}
			if _, null := v.(*ast.NullNode); null {
				e.at = m.at
			}
			r.d.Set(e.pointer, e.at)
			s, _ := r.scalar(e, "text")
			*p = append(*p, s)
		}
	}
}

func (r reader) textMap(p *map[string]string) func(member) {
	return func(m member) {
		members, _ := r.entries(m)
		values := make(map[string]string, len(members))
		for _, e := range members {
			e.name = m.name
			values[e.key], _ = r.scalar(e, "text")
		}
		*p = values
	}
}

func (r reader) boolean(p *bool) func(member) {
	return func(m member) {
		n, ok := m.value.(*ast.BoolNode)
		if !ok {
			r.wrong(m, "true or false")
			return
		}
		*p = n.Value
	}
}

// patience reads a duration, or false for not at all.
func (r reader) patience(p *time.Duration) func(member) {
	return func(m member) {
		if n, ok := m.value.(*ast.BoolNode); ok {
			if *p = 0; !n.Value {
				*p = -1
			}
			return
		}
		r.duration(p)(m)
	}
}

// word reads a member that is one of a few words.
func (r reader) word(m member, words []string, parse func(string) error) {
	s, ok := r.scalar(m, "one of "+strings.Join(words, ", "))
	if ok && parse(s) != nil {
		r.d.Fault(m.at, spelling.DidYouMean(s, words), "%s: unknown value %.40q", m.name, s)
	}
}

// oneOf reads one of a few words.
func (r reader) oneOf(p *string, words ...string) func(member) {
	return func(m member) {
		r.word(m, words, func(s string) error {
			if !slices.Contains(words, s) {
				return fmt.Errorf("unknown word %q", s)
			}
			*p = s
			return nil
		})
	}
}

func (r reader) duration(p *time.Duration) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a duration with its unit, 30s or 5m")
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			r.d.Fault(m.at, "write a duration with its unit, 30s or 5m", "%s: bad duration %.40q", m.name, s)
		case d <= 0 || d > maxWait:
			r.d.Fault(m.at, "use more than 0s and at most 24h", "%s: %s is out of range", m.name, s)
		default:
			*p = d
		}
	}
}

var size = pattern.New(`^([0-9]{1,10}) ?(B|KiB|MiB|GiB)$`)

// size reads a number of bytes.
func (r reader) size(p *int, least, most uint64) func(member) {
	return r.bytes(func(n uint64) { *p = int(n) }, least, most)
}

// bytes reads a number of bytes that set takes.
func (r reader) bytes(set func(uint64), least, most uint64) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a size with its unit, 64MiB")
		if !ok {
			return
		}
		match := size().FindStringSubmatch(s)
		if match == nil {
			r.d.Fault(m.at, "write a size in B, KiB, MiB or GiB, like 64MiB", "%s: bad size %.40q", m.name, s)
			return
		}
		n, _ := strconv.ParseUint(match[1], 10, 64) // at most 10 digits: the shift cannot overflow
		n <<= units[match[2]]
		if n < least || n > most {
			r.d.Fault(m.at, "use "+sizeText(least)+" to "+sizeText(most), "%s: %s is out of range", m.name, s)
			return
		}
		set(n)
	}
}

// units are the powers of two of the units of sizes.
var units = map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}

// sizeText writes a size in the largest unit in which it is whole.
func sizeText(n uint64) string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if n%(1<<units[unit]) == 0 {
			return strconv.FormatUint(n>>units[unit], 10) + unit
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

// maxCount is more than any of the things that are counted here can be.
const maxCount = 1_000_000

// count reads a number of things.
func (r reader) count(p *int) func(member) {
	return func(m member) {
		n, ok := m.value.(*ast.IntegerNode)
		if !ok {
			r.wrong(m, "a whole number")
			return
		}
		v, err := strconv.Atoi(n.GetToken().Value)
		if err != nil || v < 1 || v > maxCount {
			r.d.Fault(m.at, "use 1 to "+strconv.Itoa(maxCount), "%s: %.20s is out of range", m.name, n.GetToken().Value)
			return
		}
		*p = v
	}
}

// port reads the number of a TCP port.
func (r reader) port(p *int) func(member) {
	return func(m member) {
		n, ok := m.value.(*ast.IntegerNode)
		if !ok {
			r.wrong(m, "a number, 8765")
			return
		}
		port, err := strconv.ParseUint(n.GetToken().Value, 10, 16)
		if err != nil || port == 0 {
			r.d.Fault(m.at, "use 1 to 65535", "%s: %.20s is no port", m.name, n.GetToken().Value)
			return
		}
		*p = int(port)
	}
}

const daysHint = "write days, 90d, or forever"

var days = pattern.New(`^([0-9]{1,5})d$`)

// ParseDays reads a number of days like 90d, 1 to 36500, or the word forever, which is 0.
func ParseDays(s string) (time.Duration, error) {
	if s == "forever" {
		return 0, nil
	}
	match := days().FindStringSubmatch(s)
	if match == nil {
		return 0, fmt.Errorf("bad number of days %.40q", s)
	}
	n, _ := strconv.Atoi(match[1]) // five digits
	if n < 1 || n > 36500 {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

func (r reader) days(p *time.Duration) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a number of days, 90d, or forever")
		if !ok {
			return
		}
		d, err := ParseDays(s)
		if err != nil {
			r.d.Fault(m.at, daysHint, "%s: %v", m.name, err)
			return
		}
		*p = d
	}
}
