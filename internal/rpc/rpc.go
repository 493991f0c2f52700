// Package rpc reads and writes raw JSON-RPC 2.0 messages, and frames them by newlines.
//
// A [Message] is an envelope around raw JSON: ids, params, results and errors keep the bytes that they came with. The
// envelope itself is written anew: members of it that JSON-RPC does not know have no place in a Message, so none is
// handed on.
//
//	m, err := rpc.Parse(line)          // strict; the error is an *Error that can be sent back
//	line = m.Append(nil)               // one line, without the newline
//
// A [Conn] carries messages one by one. [NewStream] makes one of a reader and a writer with newline framing, which is
// MCP's stdio transport (revision 2026-07-28, Transports, stdio): one message a line, UTF-8, no newline inside.
//
// Parse refuses messages that two parsers may read differently: bad UTF-8, duplicate member names, text after the value
// (all by [rawjson.Check]), names that differ in nothing but case where MCP names members, envelopes that are two kinds
// of message at once, and requests without an id. Batches, which revision 2025-06-18 removed, are refused too. The
// escape of half a surrogate pair, which JavaScript leaves where it cuts a text, is read as U+FFFD, and replaced by
// that. What cannot be read is not fatal to a connection: [Conn.Read] gives a [BadMessage] and goes on.
//
// A Message may be shared between goroutines as long as nobody changes it. A [Stream] is safe for concurrent use.
package rpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// maxID bounds the text of an id in bytes. Ids are kept and echoed, so a peer must not make them large.
const maxID = 512

// A Message is one request, notification or response. Its raw members are JSON values without white space around them,
// nil if absent. A response has no method; a request has an id and a notification has none.
type Message struct {
	ID     json.RawMessage // the id's own text, a string or a number; returned to its sender unchanged
	Method string
	Params json.RawMessage // an object
	Result json.RawMessage // any value; in MCP an object
	Error  json.RawMessage // an object; see [Message.Failure]

	Odd      bool // whether an object at any depth may have names that fold to the same
	Repaired bool // whether halves of surrogate pairs were replaced

	// Inside are the members of Result, if that is a large object with few; else nil. Those are bare in which no object
	// has a member named _meta or annotations.
	Inside []rawjson.Member
}

// NewRequest returns a request. Params may be nil.
func NewRequest(id json.RawMessage, method string, params json.RawMessage) *Message {
	return &Message{ID: id, Method: method, Params: params}
}

// NewNotification returns a notification. Params may be nil.
func NewNotification(method string, params json.RawMessage) *Message {
	return &Message{Method: method, Params: params}
}

// Reply returns a response with a result; nil stands for MCP's empty result.
func Reply(id, result json.RawMessage) *Message {
	if result == nil {
		result = json.RawMessage("{}")
	}
	return &Message{ID: id, Result: result}
}

// ReplyError returns a response with an error. A nil id becomes null, which says that the request's id is not known.
func ReplyError(id json.RawMessage, e *Error) *Message {
	return &Message{ID: id, Error: e.append(nil)}
}

// IsRequest reports whether the message wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is a notification.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether the message is an answer.
func (m *Message) IsResponse() bool { return m.Method == "" }

// Failure returns the error of a response, nil if it has none. It is lossy: hand on Error, the raw member.
func (m *Message) Failure() *Error {
	if m.Error == nil {
		return nil
	}
	return decodeError(m.Error)
}

// Parse reads one message and keeps slices of data, which must not change afterwards. The error is an [*Error]: -32700
// for documents that [rawjson.Check] refuses, -32600 for a bad envelope. If it is a request's fault and the request's
// id could be read, the error carries that id. A params member that is null counts as absent, since some hosts write
// it.
func Parse(data []byte) (*Message, error) { return parseNaming(data, false) }

// ParseOwned is Parse for data that nobody else has, up to its capacity: the memory behind a large Result belongs to
// whoever owns the message, so there is room to append a little.
func ParseOwned(data []byte) (*Message, error) { return parseNaming(data, true) }

func parseNaming(data []byte, owned bool) (*Message, error) {
	m, e := parse(data, owned)
	if e == nil {
		return m, nil
	}
	if saw := glanceAt(data); saw.request {
		e.ID = saw.id()
	}
	return nil, e
}

// NamelessError returns the error object of a response whose id is null, nil for anything else. Parse refuses those:
// JSON-RPC has them for requests whose id could not be read (5.1), so only who knows which request that was can take
// them.
func NamelessError(data []byte) json.RawMessage {
	if rawjson.Check(data) != nil || rawjson.Kind(data) != '{' {
		return nil
	}
	version, _ := rawjson.Get(data, "jsonrpc")
	id, _ := rawjson.Get(data, "id")
	e, _ := rawjson.Get(data, "error")
	if !is(version, "2.0") || string(id) != "null" || rawjson.Kind(e) != '{' {
		return nil
	}
	return e
}

// parse is Parse without the id in the error. If the message owns data, up to its capacity, a large result owns what is
// behind it: the end of the envelope, which is read by then, and the room that follows.
func parse(data []byte, owned bool) (*Message, *Error) {
	members, odd, err := rawjson.CheckMembers(data, known())
	repaired := false
	if err != nil {
		if data, repaired = rawjson.Repair(data); repaired {
			members, odd, err = rawjson.CheckMembers(data, known())
		}
	}
	if err != nil {
		return nil, Errorf(ParseError, "parse error %v", err)
	}
	switch rawjson.Kind(data) {
	case '{':
	case '[':
		return nil, Errorf(InvalidRequest, "batches are not supported")
	default:
		return nil, Errorf(InvalidRequest, "message is not an object")
	}
	if odd && rawjson.Folded(data, places().envelope.known) {
		return nil, Errorf(InvalidRequest, "a member of the message differs from another, or from one of JSON-RPC, in nothing but case")
	}
	m, versioned := &Message{Odd: odd, Repaired: repaired}, false
	for _, member := range members {
		if string(member.Name) == "jsonrpc" {
			versioned = is(member.Value, "2.0")
		} else if e := m.set(member); e != nil {
			return nil, e
		}
	}
	if owned && m.Inside != nil {
		m.ID = bytes.Clone(m.ID) // which may be behind the result
		at := members[slices.IndexFunc(members, isResult)].At
		m.Result = data[at : at+len(m.Result)]
	}
	if !versioned {
		return nil, Errorf(InvalidRequest, `member jsonrpc is not "2.0"`)
	}
	if e := m.check(); e != nil || !odd {
		return m, e
	}
	return m, m.spelling()
}

func isResult(m rawjson.Member) bool { return string(m.Name) == "result" }

// set stores one member of the envelope.
func (m *Message) set(member rawjson.Member) *Error {
	name, value, ok := member.Name, member.Value, true
	switch string(name) {
	case "id":
		m.ID, ok = value, validID(value)
	case "method":
		m.Method, ok = rawjson.String(value)
		ok = ok && m.Method != ""
	case "params":
		if string(value) != "null" {
			m.Params, ok = value, rawjson.Kind(value) == '{'
		}
	case "result":
		m.Result, m.Inside = value, member.Inside
	case "error":
		m.Error, ok = value, rawjson.Kind(value) == '{'
	}
	if !ok {
		return Errorf(InvalidRequest, "member %s has the wrong type or size", name)
	}
	return nil
}

// is reports whether a value is that string, which needs no escapes.
func is(value []byte, text string) bool {
	if n := len(text); len(value) == n+2 && string(value[1:n+1]) == text {
		return value[0] == '"'
	}
	s, ok := rawjson.String(value)
	return ok && s == text
}

// notifications begins the methods of all notifications of MCP. Any other message without an id is a request that lost
// it.
const notifications = "notifications/"

// check reports an envelope that is no message, or two at once.
func (m *Message) check() *Error {
	switch {
	case m.Method != "":
		if m.Result != nil || m.Error != nil {
			return Errorf(InvalidRequest, "message is both a request and a response")
		}
		if m.ID == nil && !strings.HasPrefix(m.Method, notifications) {
			return Errorf(InvalidRequest, "request has no id, and its method is none of a notification")
		}
	case m.Result == nil && m.Error == nil:
		return Errorf(InvalidRequest, "message has no method, no result and no error")
	case m.Result != nil && m.Error != nil:
		return Errorf(InvalidRequest, "response has both a result and an error")
	case m.Params != nil:
		return Errorf(InvalidRequest, "response has params")
	case m.ID == nil:
		return Errorf(InvalidRequest, "response has no id")
	}
	return nil
}

// validID reports whether the JSON value may be an id. MCP, unlike JSON-RPC, has no null ids.
func validID(value []byte) bool {
	kind := rawjson.Kind(value)
	return len(value) <= maxID && (kind == '"' || kind == '0')
}

// Append appends the message as one line of JSON without a newline at its end. Raw members go out as they are, save
// that line breaks in the white space between their tokens are left out. They must be valid JSON. A response that has
// no result, or an error beside it, goes out as an error.
func (m *Message) Append(dst []byte) []byte {
	dst, body := m.appendHead(dst)
	return append(appendLine(dst, body), '}')
}

// appendHead appends the members before the body, which is params, error or result.
func (m *Message) appendHead(dst []byte) (_ []byte, body json.RawMessage) {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	switch {
	case m.ID != nil:
		dst = appendLine(append(dst, `,"id":`...), m.ID)
	case m.IsResponse():
		dst = append(dst, `,"id":null`...)
	}
	switch {
	case !m.IsResponse():
		dst = rawjson.AppendQuote(append(dst, `,"method":`...), m.Method)
		if len(m.Params) > 0 {
			return append(dst, `,"params":`...), m.Params
		}
		return dst, nil
	case len(m.Error) > 0:
		return append(dst, `,"error":`...), m.Error
	case len(m.Result) > 0:
		return append(dst, `,"result":`...), m.Result
	}
	return append(dst, `,"error":{"code":-32603,"message":"no result"}`...), nil
}

// Parts returns the output of Append, in up to three pieces: a body of half a MiB or more, unless it has line breaks,
// stays where it is. The pieces must not change.
func (m *Message) Parts() [][]byte {
	var buf []byte
	if size := m.size(); size < apart {
		buf = make([]byte, 0, size)
	}
	parts := m.layOut(buf, "")
	if parts[1] == nil {
		return parts[:1]
	}
	return parts[:]
}

// apart is the size in bytes from which on a body is not copied to be written with the rest.
const apart = 512 << 10

// layOut lays the message and an end out in parts, a long body where it is. The others use the room of buf.
func (m *Message) layOut(buf []byte, end string) [3][]byte {
	head, body := m.appendHead(buf[:0])
	if len(body) < apart || !isLine(body) {
		return [...][]byte{append(append(appendLine(slices.Grow(head, m.size()), body), '}'), end...), nil, nil}
	}
	all := append(append(head, '}'), end...)
	return [...][]byte{all[:len(head)], body, all[len(head):]}
}

// size estimates the length of Append's output, from above unless names or the method need escapes.
func (m *Message) size() int {
	return 64 + len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
}

// appendLine appends a JSON value without its line breaks. A string holds none, so all are white space.
func appendLine(dst, value []byte) []byte {
	if isLine(value) {
		return append(dst, value...)
	}
	for _, c := range value {
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}

// isLine reports whether there are no line breaks in a value.
func isLine(value []byte) bool {
	return bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0
}

// quoted returns hostile text as a bounded, printable Go string.
func quoted(text []byte) string {
	const most = 100
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(string(text[:most]), "\uFFFD")) + "…"
	}
	return strconv.Quote(string(text))
}
