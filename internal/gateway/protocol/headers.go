package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A tool's schema may ask for arguments to be repeated in HTTP headers, for intermediaries that route by them
// (2026-07-28, Streamable HTTP, Custom Headers; SEP-2243). Weir is such a hop: the headers of a host must fit the body
// that is decided on, and the server gets headers made from that body, never the host's.

const paramHeaderPrefix = "Mcp-Param-"

// maxSafeInteger is the largest integer that every JSON number type holds exactly.
const maxSafeInteger = 1<<53 - 1

// A paramHeader is an argument that is repeated in a header.
type paramHeader struct {
	path []string // of the argument
	name string   // of the header, without the prefix
}

// paramHeaders returns the headers that a tool's schema asks for.
func paramHeaders(tool json.RawMessage) []paramHeader {
	if !bytes.Contains(tool, []byte("x-mcp-header")) {
		return nil
	}
	schema, _ := rawjson.Get(tool, "inputSchema")
	return collectHeaders(nil, schema, nil)
}

func collectHeaders(found []paramHeader, schema json.RawMessage, prefix []string) []paramHeader {
	properties, ok := rawjson.Get(schema, "properties")
	if !ok || rawjson.Kind(properties) != '{' {
		return found
	}
	for name, property := range rawjson.Members(properties) {
		if rawjson.Kind(property) != '{' {
			continue
		}
		path := append(prefix[:len(prefix):len(prefix)], name)
		raw, _ := rawjson.Get(property, "x-mcp-header")
		if header, ok := rawjson.String(raw); ok && isToken(header) {
			found = append(found, paramHeader{path, header})
		}
		found = collectHeaders(found, property, path)
	}
	return found
}

// isToken reports whether s may be part of a header's name (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// headerText returns an argument as a header says it: a string, a boolean or an integer.
func headerText(value json.RawMessage) (string, bool) {
	switch rawjson.Kind(value) {
	case '"':
		return rawjson.String(value)
	case 't', 'f':
		return string(value), true
	case '0':
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > maxSafeInteger {
			return "", false
		}
		return strconv.FormatInt(int64(n), 10), true
	}
	return "", false
}

func decodeHeader(value string) (string, bool) {
	body, encoded := strings.CutPrefix(value, "=?base64?")
	if !encoded || !strings.HasSuffix(body, "?=") {
		return value, true
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?="))
	return string(data), err == nil
}

// CheckHeaders returns the error for a call of a tool whose Mcp-Param headers do not say the same as its arguments.
func CheckHeaders(header http.Header, tool, arguments json.RawMessage) *rpc.Error {
	for _, h := range paramHeaders(tool) {
		name := paramHeaderPrefix + h.name
		sent := header.Values(name)
		value, ok := rawjson.Get(arguments, h.path...)
		if !ok || rawjson.Kind(value) == 'n' {
			if len(sent) > 0 {
				return rpc.Errorf(rpc.HeaderMismatch, "header mismatch: %s repeats an argument that is absent", name)
			}
			continue
		}
		want, ok := headerText(value)
		if !ok || len(sent) != 1 {
			return rpc.Errorf(rpc.HeaderMismatch, "header mismatch: %s is missing, sent twice, or for no simple value", name)
		}
		if got, ok := decodeHeader(sent[0]); !ok || !sameHeader(got, want, value) {
			return rpc.Errorf(rpc.HeaderMismatch, "header mismatch: %s differs from the argument", name)
		}
	}
	return nil
}

// sameHeader compares the value of a header with an argument, numbers as numbers.
func sameHeader(got, want string, value json.RawMessage) bool {
	if rawjson.Kind(value) == '0' {
		var ok bool
		if got, ok = headerText(json.RawMessage(got)); !ok {
			return false
		}
	}
	return got == want
}

// HeadersFor returns the headers that a tool asks for with these params.
func HeadersFor(tool, params json.RawMessage) http.Header {
	header := http.Header{}
	for _, h := range paramHeaders(tool) {
		value, _ := rawjson.Get(params, append([]string{"arguments"}, h.path...)...)
		if text, ok := headerText(value); ok {
			header.Set(paramHeaderPrefix+h.name, upstream.HeaderValue(text))
		}
	}
	return header
}
