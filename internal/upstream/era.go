package upstream

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The protocol revisions that are spoken, newest first. Revisions are dates, so they compare as strings.
const (
	newest       = "2026-07-28" // the first without a handshake (SEP-2575)
	newestLegacy = "2025-11-25"
)

var (
	modernRevisions = [...]string{newest}
	legacyRevisions = [...]string{newestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
)

// The members of a request's _meta that say who makes it, from 2026-07-28 on.
const (
	metaProtocol     = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// isModern reports whether a revision has no handshake.
func isModern(protocol string) bool { return protocol >= newest }

// An era is an agreed revision, and its rules for every request.
type era struct {
	protocol string
	hello    Hello
}

func (e era) modern() bool { return isModern(e.protocol) }

// dress returns params with the _meta members that the revision wants, and without those that it does not know. The
// document is spliced once at most, since it may be large.
func (e era) dress(params json.RawMessage) (json.RawMessage, error) {
	if len(params) == 0 {
		params = nil
	}
	if !e.modern() {
		return e.undress(params)
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	meta, ok := rawjson.Get(params, "_meta")
	if !ok {
		meta = []byte("{}")
	}
	meta, err := rawjson.Set(meta, rawjson.Quote(e.protocol), metaProtocol)
	if err != nil {
		return nil, rpc.Errorf(rpc.InvalidParams, "_meta is not an object")
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{metaClientInfo, e.hello.ClientInfo}, {metaCapabilities, e.hello.Capabilities}} {
		if _, ok := rawjson.Get(meta, member.name); !ok {
			if meta, err = rawjson.Set(meta, member.value, member.name); err != nil {
				return nil, err
			}
		}
	}
	if params, err = rawjson.Set(params, meta, "_meta"); err != nil {
		return nil, rpc.Errorf(rpc.InvalidParams, "params is not an object")
	}
	return params, nil
}

// undress returns params for a legacy server: its HTTP transport would take a revision in _meta for the request's own.
func (e era) undress(params json.RawMessage) (json.RawMessage, error) {
	meta, ok := rawjson.Get(params, "_meta")
	if !ok {
		return params, nil
	}
	less := meta
	for _, name := range []string{metaProtocol, metaClientInfo, metaCapabilities} {
		less = rawjson.Delete(less, name)
	}
	if len(less) == len(meta) {
		return params, nil
	}
	return rawjson.Set(params, less, "_meta")
}

// check completes a hello and reports mistakes in it.
func (h Hello) check() (Hello, error) {
	if h.ClientInfo == nil {
		h.ClientInfo = json.RawMessage(`{"name":"weir","version":""}`)
	}
	if h.Capabilities == nil {
		h.Capabilities = json.RawMessage("{}")
	}
	for _, raw := range []json.RawMessage{h.ClientInfo, h.Capabilities} {
		if err := rawjson.Check(raw); err != nil {
			return h, fmt.Errorf("client's description: %w", err)
		}
		if rawjson.Kind(raw) != '{' {
			return h, fmt.Errorf("client's description is not an object")
		}
	}
	if h.Protocol == "" || isModern(h.Protocol) {
		// A host that is newer than this package still gets the newest that both know.
		h.Protocol = newest
		return h, nil
	}
	if !slices.Contains(legacyRevisions[:], h.Protocol) {
		return h, fmt.Errorf("client's protocol revision %q is not known", h.Protocol)
	}
	return h, nil
}
