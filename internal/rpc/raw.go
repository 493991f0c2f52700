package rpc

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Lines are the lines of a stream as they came, for who hands them on.
type Lines struct{ in *lineReader }

// NewLines returns the lines of r. A line beyond the limit is skipped without being held in memory.
func NewLines(r io.Reader, limit int) *Lines { return &Lines{newLineReader(r, limit)} }

// Next returns the next line that is not blank, without its end, and whether it had one. The error is a [BadMessage]
// for a line beyond the limit, which others may follow, or that of the reader.
func (l *Lines) Next() (text []byte, whole bool, err error) {
	next := l.in.next()
	return next.data, l.in.err == nil, next.err
}

// Head returns the id and the method of a line that [Message.Append] wrote, each empty if the message has none, and
// looks at no more of it. It reports whether the line begins as one of those.
func Head(text []byte) (id json.RawMessage, method string, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"jsonrpc":"2.0"`))
	if !ok {
		return nil, "", false
	}
	if after, has := bytes.CutPrefix(rest, []byte(`,"id":`)); has {
		id, rest = cutScalar(after)
	}
	if after, has := bytes.CutPrefix(rest, []byte(`,"method":`)); has {
		name, _ := cutScalar(after)
		method, ok = rawjson.String(name)
		return id, method, ok
	}
	return id, "", bytes.HasPrefix(rest, []byte(`,"result":`)) || bytes.HasPrefix(rest, []byte(`,"error":`))
}

// cutScalar cuts a string, number or literal off the beginning of a text.
func cutScalar(text []byte) (value, rest []byte) {
	if len(text) == 0 || text[0] != '"' {
		n := bytes.IndexAny(text, ",}")
		return text[:max(n, 0)], text[max(n, 0):]
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1], text[i+1:]
		}
	}
	return nil, nil
}
