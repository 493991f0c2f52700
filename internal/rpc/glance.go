package rpc

import (
	"bytes"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A glance finds the kind of message that some bytes were meant to be that are too long to keep or not valid, so that
// whoever waits for an answer can be told. It reads the top-level member names and the id and knows nothing else of
// JSON: its answer is good for naming a request in an error, never for acting on one. It takes the bytes in pieces, in
// one pass, with bounded memory.
type glance struct {
	request  bool // a member is named method
	response bool // a member is named result or error, and none method

	depth    int
	inString bool
	escaped  bool
	value    bool   // behind a colon, in the member called name
	name     string // of the current top-level member
	token    []byte // the top-level string, number or literal being read, bounded
	found    []byte // the value of id
	ids      int    // how many members are named id
}

// glanceAt looks at a whole message.
func glanceAt(data []byte) *glance {
	g := new(glance)
	g.look(data)
	return g
}

// id returns the id if there is just one and it may be one.
func (g *glance) id() json.RawMessage {
	if g.ids != 1 || !validID(g.found) || rawjson.Check(g.found) != nil {
		return nil
	}
	return g.found
}

// look takes the next piece.
func (g *glance) look(data []byte) {
	for i := 0; i < len(data); i++ {
		if !g.inString {
			g.outside(data[i])
			continue
		}
		if !g.escaped && (g.depth != 1 || len(g.token) > maxID) {
			// Nothing in the string matters but its end.
			n := bytes.IndexAny(data[i:], `"\\`)
			if n < 0 {
				return
			}
			i += n
		}
		g.inside(data[i])
	}
}

// inside takes a byte of a string.
func (g *glance) inside(c byte) {
	g.keep(c)
	switch {
	case g.escaped:
		g.escaped = false
	case c == '\\':
		g.escaped = true
	case c == '"':
		g.inString = false
	}
}

// outside takes a byte that is not in a string.
func (g *glance) outside(c byte) {
	switch c {
	case '"':
		g.inString = true
		g.keep(c)
	case '{', '[':
		g.depth++
	case '}', ']':
		if g.depth == 1 {
			g.end()
		}
		g.depth--
	case ':':
		if g.depth == 1 {
			g.name, g.token, g.value = string(g.token), g.token[:0], true
		}
	case ',':
		if g.depth == 1 {
			g.end()
		}
	case ' ', '\t', '\r', '\n':
	default:
		g.keep(c)
	}
}

// keep adds a byte to the top-level token, up to one more than an id may have.
func (g *glance) keep(c byte) {
	if g.depth == 1 && len(g.token) <= maxID {
		g.token = append(g.token, c)
	}
}

// end takes the end of a top-level member.
func (g *glance) end() {
	if g.value {
		switch g.name {
		case `"id"`:
			g.found = bytes.Clone(g.token)
			g.ids++
		case `"method"`:
			g.request, g.response = true, false
		case `"result"`, `"error"`:
			g.response = !g.request
		}
	}
	g.token, g.value = g.token[:0], false
}
