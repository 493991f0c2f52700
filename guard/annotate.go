package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// An annotator writes labels to servers and hosts.
type annotator struct {
	words     annotation.Words
	detection *Detection
	cache     lastOf[json.RawMessage] // the _meta that labels have in a document without any; nil if there is nothing to say
	clean     lastOf[label.Label]     // labels without values
}

// request returns the params to send to the server: with the _meta members that it may be told, and with the session's
// annotations. Attribution names other servers' data, so only a trusted server is told (SEP-1913, Privacy
// Considerations).
func (w *annotator) request(c *Call, s session.State) (json.RawMessage, error) {
	trusted := c.Trust == contract.Trusted
	s.Label = withoutAlerts(s.Label)
	s.Label.Findings = s.Label.Findings.Without(computedAlone)
	clean := func() (label.Label, error) {
		if w.detection.Detector == nil {
			return s.Label, nil
		}
		return withoutSecrets(w.detection, s.Label, toServers)
	}
	if _, ok := rawjson.Get(c.Params, "_meta"); ok || c.Params == nil {
		l, err := w.clean.get("servers:"+s.Key, s.Label, clean)
		if err != nil {
			return nil, err
		}
		return w.words.ToServers.WriteRequest(bareMeta(c, c.Params, s.Label), l, trusted)
	}
	tellsTo := "untrusted:"
	if trusted {
		tellsTo = "trusted:"
	}
	meta, err := w.cache.get(tellsTo+s.Key, s.Label, func() (json.RawMessage, error) {
		l, err := clean()
		if err != nil {
			return nil, err
		}
		doc, err := w.words.ToServers.WriteRequest(json.RawMessage(`{}`), l, trusted)
		meta, _ := rawjson.Get(doc, "_meta")
		return meta, err
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
	clean := func() (label.Label, error) {
		if w.detection.Detector == nil {
			return l, nil
		}
		return withoutSecrets(w.detection, l, toHosts)
	}
	before, ok := rawjson.Get(outline, "_meta")
	if !ok && why == nil && rawjson.Kind(outline) == '{' {
		meta, err := w.cache.get("result:"+uri, l, func() (json.RawMessage, error) {
			l, err := clean()
			if err != nil {
				return nil, err
			}
			doc, err := w.words.ToHosts.WriteResult(json.RawMessage(`{}`), l)
			meta, _ := rawjson.Get(doc, "_meta")
			return meta, err
		})
		if err != nil || meta == nil {
			return result, err
		}
		return rawjson.Add(result, meta, "_meta")
	}
	l, err := w.clean.get("hosts:"+uri, l, clean)
	if err != nil {
		return nil, err
	}
	if outline, err = w.words.ToHosts.WriteResult(stripOwnMeta(outline), l); err != nil {
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

// toHosts reports whether hosts may not get a value.
func toHosts(d *Detection, f detect.Finding) bool { return d.effect(f) == Redact }

// toServers reports whether no server may get a value in a label, which tells it of the data of others.
func toServers(d *Detection, f detect.Finding) bool {
	_, kind := d.Sent[string(f.Kind)]
	_, class := d.Sent[string(f.Class)]
	return kind || class || f.Class != detect.Personal && f.Class != detect.Injection
}

// withoutSecrets returns a label as it is told to others: servers choose the addresses in it, the regimes and the
// readers, so values may stand there.
func withoutSecrets(d *Detection, l label.Label, hides func(*Detection, detect.Finding) bool) (label.Label, error) {
	text := must(json.Marshal(l))
	clean, err := without(d, text, func(f detect.Finding) bool { return hides(d, f) })
	if err != nil {
		return withoutWords(l), nil
	}
	if bytes.Equal(clean, text) {
		return l, nil
	}
	var out label.Label
	err = json.Unmarshal(clean, &out)
	return out, err
}

// withoutWords returns a label without the words that servers choose: a search could not tell whether values stand
// there.
func withoutWords(l label.Label) label.Label {
	var known []label.Class
	for c := range l.Sensitivity.All() {
		if _, scoped := c.Scope(); scoped {
			c = label.Regulated
		}
		known = append(known, c)
	}
	l.Sensitivity, l.Attribution, l.Findings = label.SetOf(known...), label.Set[string]{}, label.Set[string]{}
	if _, limited := l.Readers.Limited(); limited {
		l.Readers = label.OnlyReaders()
	}
	return l
}

// Bounds of the answers about labels that are remembered.
const (
	maxMetas  = 1024
	maxCached = 4 << 10 // bytes of a label
)

// A lastOf remembers what followed from the last label of each name: a label seldom changes from one call to the next,
// and much follows from it. The zero lastOf is ready to use.
type lastOf[T any] struct {
	mu sync.Mutex
	by map[string]following[T]
}

// A following is a label, and what follows from it.
type following[T any] struct {
	label label.Label
	is    T
}

// get returns what follows from a label, which find finds. The last one of that name is used again while the label is
// the same.
func (ms *lastOf[T]) get(name string, l label.Label, find func() (T, error)) (T, error) {
	ms.mu.Lock()
	last, ok := ms.by[name]
	ms.mu.Unlock()
	if ok && last.label.Equal(l) {
		return last.is, nil
	}
	is, err := find()
	if text, unwritten := json.Marshal(l); err != nil || unwritten != nil || len(text) > maxCached {
		return is, err
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.by == nil || len(ms.by) >= maxMetas {
		ms.by = map[string]following[T]{}
	}
	ms.by[name] = following[T]{l, is}
	return is, nil
}
