package vault

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// The kinds of rows.
const (
	kindValue   = "value"
	kindNumber  = "number"  // or choice that the agent was told: its part is the digits, or = and the choice
	kindAccount = "account" // one of a space; it has no body
)

// A note is the part of a row that the store has in the clear, beside its label: of a value "value", its number, its
// bytes, its name and where it is from; of an account "account", the bits of both
// sums, the values, whether it is full, and the secret.
type note struct {
	kind   string
	number int   // of a value: how many were kept before it
	bytes  int64 // of a value: in memory
	name   string
	from   string // as that of the value
	account
}

// An account counts for a space, for as long as there is a session.
type account struct {
	bits   int    // that the agent was told
	odds   int    // bits of whether calls that use values go
	given  int    // numbers of values
	full   bool   // more numbers and choices were told than are kept
	secret string // of the names of the space
}

// told returns the account without the numbers of values and their secret, which need not be kept before there is one.
func (a account) told() account { return account{bits: a.bits, odds: a.odds, full: a.full} }

func (n *note) text() string {
	switch n.kind {
	case kindValue:
		return fmt.Sprintf("%s %d %d %s %s", n.kind, n.number, n.bytes, n.name, n.from)
	case kindAccount:
		return fmt.Sprintf("%s %d,%d %d %t %s", n.kind, n.bits, n.odds, n.given, n.full, n.secret)
	}
	return n.kind
}

var errNote = errors.New("reading a hidden value: it is of another version")

// parseNote reads the text of a note.
func parseNote(text string) (n note, err error) {
	if text == kindNumber {
		return note{kind: text}, nil
	}
	parts := strings.SplitN(text, " ", 5)
	if len(parts) != 5 {
		return n, errNote
	}
	bits, odds, counted := strings.Cut(parts[1], ",")
	first, err := strconv.Atoi(bits)
	second, also := strconv.ParseInt(parts[2], 10, 64)
	if counted && err == nil {
		n.odds, err = strconv.Atoi(odds)
	}
	switch n.kind = parts[0]; {
	case err != nil || also != nil:
		return n, errNote
	case n.kind == kindValue:
		n.number, n.bytes, n.name, n.from = first, second, parts[3], parts[4]
	case n.kind == kindAccount:
		n.account = account{first, n.odds, int(second), parts[3] == "true", parts[4]}
	default:
		return n, errNote
	}
	return n, nil
}

// An entry is a row with its note.
type entry struct {
	row *store.Value
	note
}

// A space is the values of an agent session, as the store has them, and changes of these.
type space struct {
	account account
	values  []entry // in the order of their numbers
	numbers []entry

	put  []store.Value
	gone []string
}

// read returns the space of rows.
func read(rows []store.Value) (*space, error) {
	s := &space{}
	for i := range rows {
		n, err := parseNote(rows[i].Note)
		if err != nil {
			return nil, err
		}
		switch e := (entry{&rows[i], n}); n.kind {
		case kindValue:
			s.values = append(s.values, e)
		case kindNumber:
			s.numbers = append(s.numbers, e)
		default:
			s.account = n.account
		}
	}
	slices.SortFunc(s.values, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return s, nil
}

// add adds the row of a value that is kept, with its number, and returns its name, which no other value of the space
// has.
func (s *space) add(row store.Value, n note) string {
	for taken := true; taken; {
		n.number, n.name = s.account.given, s.account.name(s.account.given)
		s.account.given++
		taken = slices.ContainsFunc(s.values, func(e entry) bool { return e.name == n.name })
	}
	row.Note = n.text()
	s.values, s.put = append(s.values, entry{&row, n}), append(s.put, row)
	return n.name
}

// Names are w and a number of five digits, so many of them.
const (
	firstName = 10_000
	names     = 90_000
)

// name returns the name of the value with a number: none is given again before all others were, and who does not know
// the secret of the space cannot tell which comes next. It permutes numbers of 18 bits until one is that of a name.
func (a *account) name(number int) string {
	x := uint32(number % names)
	for again := true; again; again = x >= names {
		left, right := x>>9, x&(1<<9-1)
		for round := range byte(4) {
			sum := sha256.Sum256(binary.BigEndian.AppendUint32(append([]byte(a.secret), round), right))
			left, right = right, left^uint32(binary.BigEndian.Uint16(sum[:]))&(1<<9-1)
		}
		x = left<<9 | right
	}
	return fmt.Sprintf("w%d", firstName+x)
}

// encode returns a value but for its label: as many bytes as one number says, of JSON, and those of its parts, which
// stay as they are.
func (v *Value) encode() ([]byte, error) {
	head := struct {
		Value
		Lengths [4]int `json:"lengths"` // -1: there is none
	}{Value: *v}
	head.Name, head.Label = "", label.Label{}
	parts := [...]*json.RawMessage{&head.Arguments, &head.Result, &head.Error, &head.Part}
	var rest []byte
	for i, part := range parts {
		head.Lengths[i] = -1
		if *part != nil {
			rest, head.Lengths[i] = append(rest, *part...), len(*part)
		}
		*part = nil
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), rest...), nil
}

var errEncoded = errors.New("it is cut off, or of another version")

// decode returns the value of [Value.encode].
func decode(b []byte) (Value, error) {
	head := struct {
		Value
		Lengths [4]int `json:"lengths"`
	}{}
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
		return Value{}, errEncoded
	}
	text, rest := b[4:4+binary.BigEndian.Uint32(b)], b[4+binary.BigEndian.Uint32(b):]
	if err := json.Unmarshal(text, &head); err != nil {
		return Value{}, errEncoded
	}
	v := head.Value
	for i, part := range [...]*json.RawMessage{&v.Arguments, &v.Result, &v.Error, &v.Part} {
		n := head.Lengths[i]
		if n > len(rest) || n < -1 {
			return Value{}, errEncoded
		}
		if n >= 0 {
			*part, rest = append(json.RawMessage{}, rest[:n]...), rest[n:]
		}
	}
	if len(rest) > 0 {
		return Value{}, errEncoded
	}
	return v, nil
}
