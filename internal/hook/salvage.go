package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// salvage returns an event after a call that is no JSON as every parser reads it, as such JSON: the agent has the result already, so to
// refuse the event would only lose its content. Characters that are none are replaced. If that is not enough, the response is all texts
// of the result, and unread says why.
func salvage(input []byte, f form) (event []byte, unread string, err error) {
	input = whole(input)
	why := rawjson.Check(input)
	if why == nil {
		return input, "", nil
	}
	told := map[string]json.RawMessage{}
	for name, value := range rawjson.Members(input) {
		switch {
		case name == f.response || name == f.failed():
			told[name] = rawjson.Quote(texts(value))
		case rawjson.Check(value) == nil:
			told[name] = value
		case name == f.input:
			told[name] = json.RawMessage("{}")
		}
	}
	event, err = json.Marshal(told)
	return event, why.Error(), err
}

// whole returns a JSON text with U+FFFD in place of bytes that are no UTF-8, and of halves of surrogate pairs.
func whole(input []byte) []byte {
	out := bytes.ToValidUTF8(bytes.Clone(input), []byte("\uFFFD"))
	for i := 0; i < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		switch half := escape(out[i:]); {
		case half&0xFC00 == 0xD800 && escape(out[i+6:])&0xFC00 == 0xDC00:
			i += 11
		case half&0xF800 == 0xD800:
			copy(out[i+2:], "fffd")
			i += 5
		default:
			i++ // the character behind may be a backslash too
		}
	}
	return out
}

// escape returns the number of the escape at the beginning of a text, such as \u00e9; 0 if there is none.
func escape(text []byte) uint64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return n
}

// texts returns all texts of a value, those of repeated members too.
func texts(value []byte) string {
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			return string(value)
		}
		if text, ok := t.(string); ok {
			b.WriteString(text + "\n")
		}
	}
}
