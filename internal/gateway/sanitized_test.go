package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/sanitize"
	"github.com/weir-mcp/weir/record"
)

// kept is a recorder that keeps all events.
type kept struct {
	mu     sync.Mutex
	events []*record.Event
}

func (k *kept) Record(_ context.Context, e *record.Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
	return nil
}

// A sanitized value has the label that the operator states, and nobody sees it. Each use is recorded.
func TestSanitized(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		log := &kept{}
		h := newLeakyHost(t, modern, func(o *gateway.Options) {
			programs(t, o)
			o.Servers[0].Hide = []string{"inbox"}
			o.State = guard.NewState(nil, log)
			o.Sanitizers = &sanitize.Sanitizers{Scanner: detect.New(), Rules: map[string]sanitize.Rule{
				"plain": {By: sanitize.StripLinks}, "free": {By: sanitize.StripLinks, Trusted: true},
			}}
		})
		if list := string(h.request("tools/list", "")); !strings.Contains(list, "weir_sanitize") || !strings.Contains(list, "which the operator states to be not untrusted") {
			t.Error(list)
		}
		h.says(leak{leakyMessages[:1], `"result":{"content":[{"type":"text","text":"{\"from\":\"CANARY https://x.example\",\"n\":7}"}]}`})
		name := h.value(h.call("inbox", "{}"))
		made := func(by, path string) string {
			answer := string(h.call("weir_sanitize", fmt.Sprintf(`{"value":%q,"path":%q,"by":%q}`, name, path, by)))
			_, rest, ok := strings.Cut(answer, `\"value\":\"`)
			if !ok {
				t.Fatal(answer)
			}
			return rest[:6]
		}
		h.saysText("done")
		for by, goes := range map[string]bool{"plain": false, "free": true} {
			value := made(by, "/from")
			if answer := string(h.call("post", `{"text":"[[`+value+`]]"}`)); strings.Contains(answer, "a person has to accept this call") == goes {
				t.Errorf("%s: %s", by, answer)
			}
		}
		if h.got() != `{"text":"CANARY [link]"}` {
			t.Errorf("the server got %s", h.got())
		}
		for arguments, want := range map[string]string{
			`"by":"none"`: "by is one of free, plain", `"by":"free","path":"/none"`: "there is no such answer", `"by":"free","more":1`: "not those of the tool's schema",
		} {
			if answer := string(h.call("weir_sanitize", `{"value":"`+name+`",`+arguments+`}`)); !strings.Contains(answer, want) {
				t.Errorf("%s: %s", arguments, answer)
			}
		}
		h.silent("with sanitizers")
		said := "sanitizer free of " + name + ": strip_links, which the operator states to be not untrusted"
		for _, e := range log.events {
			if e.Kind == record.Decision && e.Where == said {
				return
			}
		}
		t.Error("no event tells of the sanitizer")
	})
}
