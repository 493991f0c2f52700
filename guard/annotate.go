package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// An annotator writes labels to servers and hosts.
type annotator struct {
	words annotation.Words
	cache metaCache
}

// request returns the params to send to the server: with the _meta members that it may be told, and with the session's
// annotations. Attribution names other servers' data, so only a trusted server is told (SEP-1913, Privacy
// Considerations).
func (w *annotator) request(c *Call, s session.State) (json.RawMessage, error) {
	trusted := c.Trust == contract.Trusted
	s.Label = withoutAlerts(s.Label)
	s.Label.Findings = s.Label.Findings.Without(computedAlone)
	if _, ok := rawjson.Get(c.Params, "_meta"); ok || c.Params == nil {
		return w.words.ToServers.WriteRequest(bareMeta(c, c.Params, s.Label), s.Label, trusted)
	}
	tellsTo := "untrusted:"
	if trusted {
		tellsTo = "trusted:"
	}
	meta, err := w.cache.meta(tellsTo+s.Key, s.Label, func(l label.Label) (json.RawMessage, error) {
		return w.words.ToServers.WriteRequest(json.RawMessage(`{}`), l, trusted)
	})
	if err != nil || meta == nil {
		return c.Params, err
	}
	return rawjson.Add(slices.Clip(c.Params), meta, "_meta")
}

// result returns the result with the label and the evidence for it, and without members that no server may send. Its
// _meta is in outline.
func (w *annotator) result(
	uri string, a Answer, outline json.RawMessage, l label.Label, why *annotation.Evidence,
) (json.RawMessage, error) {
	l.Findings = l.Findings.Without(computedAlone)
	result := a.Result
	if !a.Own {
		result = slices.Clip(result)
	}
	before, ok := rawjson.Get(outline, "_meta")
	if !ok && why == nil && rawjson.Kind(outline) == '{' {
		meta, err := w.cache.meta("result:"+uri, l, func(l label.Label) (json.RawMessage, error) {
			return w.words.ToHosts.WriteResult(json.RawMessage(`{}`), l)
		})
		if err != nil || meta == nil {
			return result, err
		}
		return rawjson.Add(result, meta, "_meta")
	}
	outline, err := w.words.ToHosts.WriteResult(stripOwnMeta(outline), l)
	if err != nil {
		return nil, err
	}
	if why != nil {
		if outline, err = w.words.ToHosts.WriteEvidence(outline, *why); err != nil {
			return nil, err
		}
	}
	after, ok := rawjson.Get(outline, "_meta")
	if !ok || bytes.Equal(before, after) {
		return result, nil
	}
	return rawjson.Set(result, after, "_meta")
}

// Bounds of the annotations that are remembered.
const (
	maxMetas      = 1024
	maxCachedMeta = 4 << 10 // bytes
)

// A metaCache remembers the _meta that labels have in a document without any: a label seldom changes from one call to
// the next, and is long to write. The zero metaCache is ready to use.
type metaCache struct {
	mu sync.Mutex
	by map[string]cachedMeta
}

// A cachedMeta is a label and the _meta that says it.
type cachedMeta struct {
	label label.Label
	meta  json.RawMessage // nil if there is nothing to say
}

// meta returns the _meta of the document that write makes of a label, nil if it has none. The last one of that name is
// used again while the label is the same.
func (ms *metaCache) meta(name string, l label.Label, write func(label.Label) (json.RawMessage, error)) (json.RawMessage, error) {
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
	if len(meta) > maxCachedMeta {
		return meta, nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.by == nil || len(ms.by) >= maxMetas {
		ms.by = map[string]cachedMeta{}
	}
	ms.by[name] = cachedMeta{l, meta}
	return meta, nil
}
