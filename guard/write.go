package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// upward returns the params to send to the server: with the _meta members that it may be told, and with the session's annotations.
// Attribution names other servers' data, so only a trusted server is told (SEP-1913, Privacy Considerations).
func (g *Guard) upward(c *Call, s session.State) (json.RawMessage, error) {
	trusted := c.Trust == contract.Trusted
	if _, ok := rawjson.Get(c.Params, "_meta"); ok || c.Params == nil {
		return g.opts.Words.ToServers.WriteRequest(c.bare(c.Params, s.Label), s.Label, trusted)
	}
	tellsTo := "untrusted:"
	if trusted {
		tellsTo = "trusted:"
	}
	meta, err := g.written.meta(tellsTo+s.Key, s.Label, func(l label.Label) (json.RawMessage, error) {
		return g.opts.Words.ToServers.WriteRequest(json.RawMessage(`{}`), l, trusted)
	})
	if err != nil || meta == nil {
		return c.Params, err
	}
	return rawjson.Add(slices.Clip(c.Params), meta, "_meta")
}

// labelled returns the result with the label, and without what no server may say. Its _meta is in said.
func (g *Guard) labelled(c *Call, a Answer, said json.RawMessage, l label.Label) (json.RawMessage, error) {
	result := a.Result
	if !a.Own {
		result = slices.Clip(result)
	}
	before, ok := rawjson.Get(said, "_meta")
	if !ok && rawjson.Kind(said) == '{' {
		meta, err := g.written.meta("result:"+c.URI(), l, func(l label.Label) (json.RawMessage, error) {
			return g.opts.Words.ToHosts.WriteResult(json.RawMessage(`{}`), l)
		})
		if err != nil || meta == nil {
			return result, err
		}
		return rawjson.Add(result, meta, "_meta")
	}
	said, err := g.opts.Words.ToHosts.WriteResult(stripOwnMeta(said), l)
	if err != nil {
		return nil, err
	}
	after, ok := rawjson.Get(said, "_meta")
	if !ok || bytes.Equal(before, after) {
		return result, nil
	}
	return rawjson.Set(result, after, "_meta")
}

// Bounds of the annotations that are remembered.
const (
	maxMemos    = 1024
	maxMemoText = 4 << 10 // bytes
)

// Memos remember what labels look like in a document that had no _meta: a label seldom changes from one call to the next, and
// is long to write. The zero memos are ready to use.
type memos struct {
	mu sync.Mutex
	by map[string]memo
}

// A memo is a label and the _meta that says it.
type memo struct {
	label label.Label
	meta  json.RawMessage // nil if there is nothing to say
}

// meta returns the _meta of the document that write makes of a label, nil if it has none. What it made last under that name
// is used again while the label is the same.
func (ms *memos) meta(name string, l label.Label, write func(label.Label) (json.RawMessage, error)) (json.RawMessage, error) {
	ms.mu.Lock()
	last, ok := ms.by[name]
	ms.mu.Unlock()
	if ok && last.label.Equal(l) {
		return last.meta, nil
	}
	doc, err := write(l)
	if err != nil {
		return nil, err
	}
	meta, _ := rawjson.Get(doc, "_meta")
	if len(meta) > maxMemoText {
		return meta, nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.by == nil || len(ms.by) >= maxMemos {
		ms.by = map[string]memo{}
	}
	ms.by[name] = memo{l, meta}
	return meta, nil
}
