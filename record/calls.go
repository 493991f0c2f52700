package record

import (
	"bytes"
	"strconv"
)

// callsMember begins the last member of an event that tells how many calls its session has made.
const callsMember = `"calls":`

// WithCalls returns the JSON of an event with the number of calls that its session has made until then, as a last
// member by the name of calls, which is none of [Event]: a store adds it to some events when it writes them. ok is
// false for a text that is not an object.
func WithCalls(body []byte, calls int64) (told []byte, ok bool) {
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return nil, false
	}
	told = append(make([]byte, 0, len(body)+len(callsMember)+20), body[:len(body)-1]...)
	if len(body) > 2 {
		told = append(told, ',')
	}
	told = append(told, callsMember...)
	return append(strconv.AppendInt(told, calls, 10), '}'), true
}

// CallsOf returns the number that the JSON of an event tells by [WithCalls]. Where an object ends in a number, the
// quotes before that are those of the member's name: no other member, and no text, can end so.
func CallsOf(body []byte) (calls int64, ok bool) {
	body, ok = bytes.CutSuffix(body, []byte("}"))
	at := bytes.LastIndexByte(body, ':') + 1
	name, object := bytes.CutSuffix(body[:at], []byte(callsMember))
	if !ok || !object || !bytes.HasSuffix(name, []byte(",")) && string(name) != "{" {
		return 0, false
	}
	calls, err := strconv.ParseInt(string(body[at:]), 10, 64)
	return calls, err == nil
}
