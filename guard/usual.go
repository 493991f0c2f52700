package guard

import (
	"cmp"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Bounds of the memory of usual results.
const (
	manyResults  = 5       // of one tool, after which another one may be unusual
	largeResult  = 4 << 10 // bytes; smaller ones are never unusual by their size
	manyTimes    = 10      // larger than all before
	manyShapes   = 4       // of one tool: its results have any
	maxUsual     = 4096    // tools
	maxElements  = 64      // blocks of one result
	maxShapedAll = 256     // members of one result
)

// A usual remembers how large the results of each tool were, and of which shape, in this process.
type usual struct {
	mu sync.Mutex
	by *bounded.Map[string, habit] // by server, method and name
}

// A habit is how large the results of a tool were that agents got, and of which shapes.
type habit struct {
	count, largest int
	shapes         []string
}

func newUsual() *usual { return &usual{by: bounded.NewMap[string, habit](maxUsual)} }

func usualKey(r *request) string { return bind(r.Server, r.Method, r.Name) }

// changed says in which ways a result is unlike all that the agent got from the tool before: "size", "shape".
func (u *usual) changed(r *request, a Answer) (ways []string) {
	if a.Error != nil {
		return nil
	}
	u.mu.Lock()
	h, _ := u.by.Get(usualKey(r))
	u.mu.Unlock()
	if h.count < manyResults {
		return nil
	}
	if len(a.Result) > largeResult && len(a.Result)/manyTimes > h.largest {
		ways = append(ways, "size")
	}
	if len(h.shapes) < manyShapes && !slices.Contains(h.shapes, shapeOf(a.Result)) {
		ways = append(ways, "shape")
	}
	return ways
}

// note remembers a result that the agent gets.
func (u *usual) note(r *request, a Answer) {
	if a.Error != nil || isToolError(a.Result) {
		return
	}
	key, shape := usualKey(r), shapeOf(a.Result)
	u.mu.Lock()
	defer u.mu.Unlock()
	h, _ := u.by.Get(key)
	h.count, h.largest = h.count+1, max(h.largest, len(a.Result))
	if len(h.shapes) < manyShapes && !slices.Contains(h.shapes, shape) {
		h.shapes = append(slices.Clip(h.shapes), shape)
	}
	u.by.Set(key, h)
}

// shapeOf returns a digest of the types of the blocks of a result, and the names and kinds of the members of its
// structured content, two levels deep, each once.
func shapeOf(result []byte) string {
	var parts []string
	add := func(part string) {
		if len(parts) < maxShapedAll {
			parts = append(parts, part)
		}
	}
	for _, list := range [...]string{"content", "contents", "messages"} {
		blocks, _ := rawjson.Get(result, list)
		n := 0
		for block := range rawjson.Elements(blocks) {
			kind, _ := rawjson.Get(block, "type")
			add(list + " " + string(kind))
			if n++; n == maxElements {
				break
			}
		}
	}
	structured, _ := rawjson.Get(result, "structuredContent")
	for name, value := range rawjson.Members(structured) {
		add(name + " " + string(rune(rawjson.Kind(value))))
		for inner, v := range rawjson.Members(value) {
			add(name + "/" + inner + " " + string(rune(rawjson.Kind(v))))
		}
	}
	slices.SortFunc(parts, cmp.Compare[string])
	return bind(slices.Compact(parts)...)
}
