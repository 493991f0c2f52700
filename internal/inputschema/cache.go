package inputschema

import (
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// maxCached bounds the text of the input schemas that are kept, in bytes.
const maxCached = 16 << 20

// A Cache keeps the input schemas of tools that were called, by their text: lists are read again and again, and tools
// seldom change. The zero Cache is ready to use, concurrently too.
type Cache struct {
	mu   sync.Mutex
	by   map[string]*Schema
	size int
}

// Of returns the input schema of a tool, an entry of a list.
func (s *Cache) Of(tool json.RawMessage) *Schema {
	raw, _ := rawjson.Get(tool, "inputSchema")
	s.mu.Lock()
	known, ok := s.by[string(raw)]
	s.mu.Unlock()
	if ok {
		return known
	}
	compiled := Compile(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || s.size+len(raw) > maxCached {
		s.by, s.size = map[string]*Schema{}, 0
	}
	s.by[string(raw)] = compiled
	s.size += len(raw)
	return compiled
}
