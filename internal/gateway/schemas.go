package gateway

import (
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// maxSchemas bounds the text of the input schemas that are kept, in bytes.
const maxSchemas = 16 << 20

// Schemas are the input schemas of tools that were called, by their text: lists are read again and again, and tools seldom
// change. The zero schemas are ready to use.
type schemas struct {
	mu   sync.Mutex
	by   map[string]*inputschema.Schema
	size int
}

// of returns the input schema of a tool.
func (s *schemas) of(tool json.RawMessage) *inputschema.Schema {
	raw, _ := rawjson.Get(tool, "inputSchema")
	s.mu.Lock()
	known, ok := s.by[string(raw)]
	s.mu.Unlock()
	if ok {
		return known
	}
	compiled := inputschema.Compile(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || s.size+len(raw) > maxSchemas {
		s.by, s.size = map[string]*inputschema.Schema{}, 0
	}
	s.by[string(raw)] = compiled
	s.size += len(raw)
	return compiled
}

// fits holds the arguments of a route to an entry of a list against what the entry declares, and tells the guard. It returns the
// error for arguments that a server may read as others than Weir.
func (f *front) fits(r *route, e catalog.Entry, odd bool) *rpc.Error {
	ambiguous := rpc.Errorf(rpc.InvalidParams, "members of params.arguments differ in nothing but case")
	if r.tool == nil {
		if odd && rawjson.Folded(r.call.Arguments, nil) {
			return ambiguous
		}
		return nil
	}
	tool := e.Said
	if tool == nil {
		tool = e.Raw
	}
	found := f.g.schemas.of(tool).Check(r.call.Arguments)
	if found.Ambiguous {
		return ambiguous
	}
	if r.call.Violates != "" {
		found.Violates = r.call.Violates
	}
	r.call.Violates, r.call.Undeclared.Names, r.call.Undeclared.Beside = found.Violates, found.Undeclared, found.Beside
	return nil
}
