package exchange

import (
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/rawjson"
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
