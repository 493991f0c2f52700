//go:build linux

package attach

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	maxStanding = 256      // requests that another owner is told again
	maxRetold   = 64 << 10 // bytes of one of them
)

// A book is a wrap's account of the messages that have passed: which requests are open, and all that another owner has
// to be told to take the place of the one that has passed them.
type book struct {
	open  map[string]int  // requests of the host without an answer, by id: a host may use one twice
	asked map[string]bool // requests of the owner without an answer, by id

	hello       *rpc.Message // the host's initialize: the first one, unless that failed
	welcome     *welcome     // the answer to it; nil: none yet
	initialized bool         // whether the host has said so

	changing map[string]*rpc.Message // open requests that the session remembers, by id
	standing map[string]*rpc.Message // those that have succeeded, by the part of the session that they set
	overfull bool                    // whether there is more to remember than there is room for
}

func newBook() *book {
	return &book{
		open: map[string]int{}, asked: map[string]bool{}, changing: map[string]*rpc.Message{}, standing: map[string]*rpc.Message{},
	}
}

// A welcome is the part of the answer to initialize that a host goes by.
type welcome struct{ version, capabilities string }

func newWelcome(result json.RawMessage) *welcome {
	version, _ := rawjson.Get(result, "protocolVersion")
	capabilities, _ := rawjson.Get(result, "capabilities")
	return &welcome{string(version), string(capabilities)}
}

// host notes a line of the host, and returns the part of the session that it sets anew, if any.
func (b *book) host(text []byte) (sets string) {
	m, err := rpc.Parse(text)
	switch {
	case err != nil:
		if bad, ok := err.(*rpc.Error); ok && bad.ID != nil {
			b.open[string(bad.ID)]++ // it is answered, too
		}
	case m.IsRequest():
		b.open[string(m.ID)]++
		return b.change(m)
	case m.IsResponse():
		delete(b.asked, spelled(m.ID))
	case m.Method == "notifications/initialized":
		b.initialized = true
	case m.Method == "notifications/cancelled":
		id, _ := rawjson.Get(m.Params, "requestId")
		b.cancel(string(id))
	}
	return ""
}

// change notes a request if a session goes on differently after it, and returns the part of the session that it sets.
func (b *book) change(m *rpc.Message) (sets string) {
	switch m.Method {
	case "initialize":
		if b.hello != nil {
			return "" // it will be refused
		}
		b.hello = m
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		b.changing[string(m.ID)] = m
		sets = part(m)
	default:
		return ""
	}
	b.overfull = b.overfull || len(m.Params) > maxRetold || len(b.changing) > maxStanding
	return sets
}

// part returns the part of a session that a request sets.
func part(m *rpc.Message) string {
	uri, _ := rawjson.Get(m.Params, "uri")
	return strings.Replace(m.Method, "/unsubscribe", "/subscribe", 1) + " " + spelled(uri)
}

// cancel notes that the host wants no answer any more. A handshake is not cancelled.
func (b *book) cancel(id string) {
	if b.opening(id) {
		return
	}
	b.close(id)
	delete(b.changing, id)
}

// opening reports whether an id is that of the handshake, as long as that has no answer.
func (b *book) opening(id string) bool {
	return b.hello != nil && b.welcome == nil && string(b.hello.ID) == id
}

func (b *book) close(id string) {
	if b.open[id]--; b.open[id] <= 0 {
		delete(b.open, id)
	}
}

// owner notes a line of the owner.
func (b *book) owner(text []byte) {
	id, method, ok := rpc.Head(text)
	switch {
	case !ok:
	case method == "notifications/cancelled":
		if m, err := rpc.Parse(text); err == nil {
			id, _ := rawjson.Get(m.Params, "requestId")
			delete(b.asked, spelled(id))
		}
	case method != "" && id != nil:
		b.asked[spelled(id)] = true
	case method == "":
		b.answered(string(id), text)
	}
}

// answered notes an answer to the host.
func (b *book) answered(id string, text []byte) {
	b.close(id)
	m := b.changing[id]
	if m == nil && !b.opening(id) {
		return
	}
	answer, err := rpc.Parse(bytes.Clone(text))
	switch done := err == nil && answer.Error == nil; {
	case b.opening(id) && done:
		b.welcome = newWelcome(answer.Result)
	case b.opening(id):
		b.hello = nil
	case done:
		b.settle(m)
	}
	delete(b.changing, id)
}

// settle notes a request that the session remembers.
func (b *book) settle(m *rpc.Message) {
	if b.standing[part(m)] = m; m.Method == "resources/unsubscribe" {
		delete(b.standing, part(m))
	}
	b.overfull = b.overfull || len(b.standing) > maxStanding
}

// spelled returns a JSON string by its content, and any other value by its text.
func spelled(value json.RawMessage) string {
	if s, ok := rawjson.String(value); ok {
		return `"` + s
	}
	return string(value)
}

// lost closes the account of an owner that has ended, and returns the lines that tell the host: an end to each request
// of that owner, and one answer to each open request but the handshake.
func (b *book) lost() (lines [][]byte) {
	for id := range b.asked {
		raw := json.RawMessage(id)
		if id[0] == '"' {
			raw = rawjson.Quote(id[1:])
		}
		params, _ := rawjson.Set([]byte(`{"reason":"no longer needed"}`), raw, "requestId")
		lines = append(lines, rpc.NewNotification("notifications/cancelled", params).Append(nil))
	}
	why := &rpc.Error{Code: rpc.InternalError, Message: hosterror.New("the process of weir that decides has ended before it answered: " +
		"this request may or may not have been carried out, and is not repeated").Error()}
	for id, n := range b.open {
		if b.opening(id) {
			n--
		}
		for range n {
			lines = append(lines, rpc.ReplyError(json.RawMessage(id), why).Append(nil))
		}
	}
	clear(b.open)
	clear(b.asked)
	clear(b.changing)
	return lines
}
