package annotation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// sent returns the attribution that a request carries.
func sent(t interface{ Fatal(...any) }, uris ...string) (all []string, size int) {
	params, err := annotation.WriteRequest([]byte(`{}`), label.Label{Attribution: strs(uris...)}, true)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := rawjson.Get(params, "_meta", "annotations", "attribution")
	if err := json.Unmarshal(raw, &all); raw != nil && err != nil {
		t.Fatal(err)
	}
	return all, len(raw)
}

func TestAttributionOfRequestsIsBrief(t *testing.T) {
	var many, wide []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("mcp://files/read_file/%d", i), fmt.Sprintf("https://user:secret@news.example/a/%d?q=1", i),
			fmt.Sprintf("urn:acme:hr:%d", i), fmt.Sprintf("file:///home/ann/%d", i))
		wide = append(wide, fmt.Sprintf("https://%d.evil.example/", i))
	}
	if got, _ := sent(t, many[:4]...); !cmp.Equal(got, strs(many[:4]...).Slice()) {
		t.Errorf("a few become %q", got)
	}
	if got, _ := sent(t, many...); !cmp.Equal(got, []string{"file:///", "https://news.example/", "mcp://files/", "urn:acme"}) {
		t.Errorf("many become %q", got)
	}
	got, _ := sent(t, wide...)
	if len(got) != 64 || !strings.Contains(strings.Join(got, " "), "urn:weir:more") {
		t.Errorf("a thousand origins become %q", got)
	}
	if got, _ := sent(t, "a:"+strings.Repeat("x", 4000), "b://"+strings.Repeat("y", 4000), strings.Repeat("z", 400)); !cmp.Equal(got, []string{"a:", "b:", "urn:weir:more"}) {
		t.Errorf("long ones become %q", got)
	}
}

// However many and however odd, a request carries 4 KiB at most, and all of it is read by the next.
func TestAttributionBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uris := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"mcp://", "https://", "urn:", "", "x:"}).Draw(t, "scheme") + strings.ToValidUTF8(rapid.StringN(0, 300, 2000).Draw(t, "rest"), "")
		}), 0, 200).Draw(t, "uris")
		all, size := sent(t, uris...)
		if size > 4096 || len(all) > 64 || len(all) == 0 && strs(uris...).Len() > 0 {
			t.Fatalf("%d bytes, %d URIs", size, len(all))
		}
		params, _ := annotation.WriteRequest([]byte(`{}`), label.Label{Attribution: strs(uris...)}, true)
		if seen, defects := annotation.ReadRequest(params); len(defects) > 0 || seen.Attribution.Len() != len(all) {
			t.Fatalf("%v", defects)
		}
	})
}
