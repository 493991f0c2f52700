package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rpc"
)

// TestOutline holds that no label of a large result is missed because the check of the message is believed to have seen
// none, and that results without labels in their content are not scanned again.
func TestOutline(t *testing.T) {
	const labels = `{"openWorldHint":true,"maliciousActivityHint":true}`
	long := strings.Repeat("x ", 40<<10)
	for _, c := range []struct {
		name, result string
		known        bool
	}{
		{"a text", `"content":[{"type":"text","text":"LONG"}]`, true},
		{"a text that speaks of labels", `"content":[{"type":"text","text":"LONG\"_meta\":{\"annotations\":1}, annotations"}]`, true},
		{"a text called _meta", `"content":[{"type":"_meta","text":"LONG"}]`, true},
		{"an error", `"content":[{"type":"text","text":"LONG"}],"isError": true `, true},
		{"a label of the whole", `"content":[{"type":"text","text":"LONG"}],"_meta":{"annotations":LABELS}`, true},
		{"the same, first", `"_meta": {"annotations":LABELS} ,"content":[{"type":"text","text":"LONG"}]`, true},
		{"nothing that is read", `"other":"LONG"`, true},
		{"labels of a block", `"content":[{"type":"text","text":"LONG","annotations":LABELS}]`, false},
		{"of its _meta", `"content":[{"type":"text","text":"LONG","_meta":{"annotations":LABELS}}]`, false},
		{"with an escape in the name", `"content":[{"type":"text","text":"LONG","\u005fmeta":{"annot\u0061tions":LABELS}}]`, false},
		{"of the last of many blocks", `"content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 3000) + `{"annotations":LABELS}]`, false},
		{"of a block with many members", `"content":[{` + manyMembers(100) + `,"annotations":LABELS,"text":"LONG"}]`, false},
		{"of a resource", `"content":[{"type":"resource","resource":{"text":"LONG","_meta":{"annotations":LABELS}}}]`, false},
		{"of contents", `"contents":[{"uri":"a","text":"LONG","_meta":{"annotations":LABELS}}]`, false},
		{"of messages", `"messages":[{"role":"user","content":{"type":"text","text":"LONG","annotations":LABELS}}]`, false},
		{"of structured content", `"content":[],"structuredContent":{"a":"LONG","b":{"_meta":{}}}`, false},
		{"beside many members", manyMembers(100) + `,"content":[{"text":"LONG","annotations":LABELS}]`, false},
	} {
		text := strings.NewReplacer("LONG", long, "LABELS", labels).Replace(c.result)
		m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{` + text + `}}`))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := outline(m)
		if (got != nil) != c.known {
			t.Errorf("%s: the outline %.100s is known, want %v", c.name, got, c.known)
		}
		if got == nil {
			continue
		}
		claim, defects := annotation.ReadResult(got)
		want, wanted := annotation.ReadResult(annotation.Outline(m.Result))
		if diff := cmp.Diff(fmt.Sprintf("%+v %v", want, wanted), fmt.Sprintf("%+v %v", claim, defects)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
		if len(got) > 200 || strings.Contains(text, "isError") != strings.Contains(string(got), `"isError":true`) {
			t.Errorf("%s: the outline is %.300s", c.name, got)
		}
	}
}

func manyMembers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"m%d":0`, i))
	}
	return strings.Join(all, ",")
}
