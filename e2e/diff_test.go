package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A change is one place where the answer through Weir differs from the direct one.
type change struct {
	path []string // member names and array indexes from the result down
	kind string   // "added", "removed" or "changed"
	was  any
	is   any
}

func (c change) String() string {
	was, _ := json.Marshal(c.was)
	is, _ := json.Marshal(c.is)
	switch c.kind {
	case "added":
		return fmt.Sprintf("%s added: %.200s", strings.Join(c.path, "."), is)
	case "removed":
		return fmt.Sprintf("%s removed: %.200s", strings.Join(c.path, "."), was)
	}
	return fmt.Sprintf("%s changed: %.200s → %.200s", strings.Join(c.path, "."), was, is)
}

// diff walks two decoded JSON values. An added object is reported member by member, so that a rule that admits
// one member does not admit its neighbours.
func diff(path []string, was, is any) []change {
	switch w := was.(type) {
	case object:
		if i, ok := is.(object); ok {
			return diffObjects(path, w, i)
		}
	case []any:
		if i, ok := is.([]any); ok && len(i) == len(w) {
			var all []change
			for n := range w {
				all = append(all, diff(child(path, strconv.Itoa(n)), w[n], i[n])...)
			}
			return all
		}
	default:
		if reflect.DeepEqual(was, is) {
			return nil
		}
	}
	return []change{{path: path, kind: "changed", was: was, is: is}}
}

func diffObjects(path []string, was, is object) []change {
	var all []change
	for _, name := range slices.Sorted(maps.Keys(was)) {
		next := child(path, name)
		if v, ok := is[name]; ok {
			all = append(all, diff(next, was[name], v)...)
		} else {
			all = append(all, change{path: next, kind: "removed", was: was[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[name]; ok {
			continue
		}
		next := child(path, name)
		if added, ok := is[name].(object); ok && len(added) > 0 {
			all = append(all, diffObjects(next, object{}, added)...)
		} else {
			all = append(all, change{path: next, kind: "added", is: is[name]})
		}
	}
	return all
}

func child(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

// A licence lists the changes that Weir may make to an answer.
type licence struct {
	untrusted bool // the server's own word about its tools may be overruled
	crossing  bool // the two sides speak revisions of different eras
}

// contractMembers are the members of Tool.annotations that Weir writes.
var contractMembers = []string{
	"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint",
	"maliciousActivityHint", "attribution", "inputMetadata", "returnMetadata",
	"trustedHint", "secretHint", "unsafeOutputHint", "sensitiveDataHint", "reversibleHint",
	"aiProcessingHint", "slowExecutionHint", "resourceIntensiveHint", "privilegedAccessHint",
}

// labelMembers are the members of a result's _meta that Weir writes.
var labelMembers = []string{"annotations", "io.modelcontextprotocol/trust-annotations", "dev.weir/label"}

// labelled are the methods whose results carry a label.
var labelled = []string{"tools/call", "resources/read", "prompts/get", "completion/complete"}

// allows tells whether a change to the answer of method is one that Weir may make.
func (l licence) allows(method string, c change) bool {
	p := c.path
	if len(p) >= 2 && p[0] == "_meta" && slices.Contains(labelMembers, p[1]) {
		return slices.Contains(labelled, method) && c.kind != "removed"
	}
	if method == "tools/list" && len(p) >= 4 && p[0] == "tools" && p[2] == "annotations" {
		return slices.Contains(contractMembers, p[3]) && (c.kind == "added" || l.untrusted && c.kind == "changed")
	}
	if method == "tools/list" && len(p) >= 4 && p[0] == "tools" && p[2] == "_meta" && p[3] == "dev.weir/contract" {
		return c.kind == "added"
	}
	if !l.crossing {
		return false
	}
	switch {
	case len(p) == 1:
		return slices.Contains([]string{"resultType", "ttlMs", "cacheScope"}, p[0])
	case p[0] == "_meta":
		return strings.HasPrefix(p[1], "io.modelcontextprotocol/")
	}
	return false
}

// compare reports everything that Weir did to the answer of method and may not do.
func (l licence) compare(t *testing.T, method string, direct, through message) {
	t.Helper()
	was := object{"result": direct.Result, "error": direct.Error}
	is := object{"result": through.Result, "error": through.Error}
	if (direct.Result == nil) != (through.Result == nil) {
		t.Errorf("%s: %v became %v", method, was, is)
		return
	}
	for _, c := range diff(nil, was["error"], is["error"]) {
		t.Errorf("%s: error %v", method, c)
	}
	for _, c := range diff(nil, was["result"], is["result"]) {
		if !l.allows(method, c) {
			t.Errorf("%s: %v", method, c)
		}
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, was, is string
		want          []string
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{"number text", `{"a":1.0}`, `{"a":1}`, []string{`a changed: 1.0 → 1`}},
		{"changed", `{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{`a.b changed: 1 → 2`}},
		{"removed", `{"a":1,"b":2}`, `{"b":2}`, []string{`a removed: 1`}},
		{"added deep", `{}`, `{"_meta":{"x":1,"y":{"z":2}}}`, []string{`_meta.x added: 1`, `_meta.y.z added: 2`}},
		{"added empty", `{}`, `{"a":{}}`, []string{`a added: {}`}},
		{"kind", `{"a":{}}`, `{"a":[]}`, []string{`a changed: {} → []`}},
		{"length", `{"a":[1]}`, `{"a":[1,2]}`, []string{`a changed: [1] → [1,2]`}},
		{"in array", `[{"a":1},2]`, `[{"a":3},2]`, []string{`0.a changed: 1 → 3`}},
		{"null to value", `{"a":null}`, `{"a":1}`, []string{`a changed: null → 1`}},
	} {
		var was, is any
		decode(t, []byte(c.was), &was)
		decode(t, []byte(c.is), &is)
		var got []string
		for _, change := range diff(nil, was, is) {
			got = append(got, change.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLicence(t *testing.T) {
	for _, c := range []struct {
		name    string
		licence licence
		method  string
		was, is string
		refused int
	}{
		{"label", licence{}, "tools/call", `{}`, `{"_meta":{"annotations":{"openWorldHint":true,"attribution":["mcp://a"]}}}`, 0},
		{"label lost", licence{}, "tools/call", `{"_meta":{"annotations":{"openWorldHint":true}}}`, `{"_meta":{"annotations":{}}}`, 1},
		{"label on a list", licence{}, "tools/list", `{}`, `{"_meta":{"annotations":{"openWorldHint":true}}}`, 1},
		{"beside the label", licence{}, "tools/call", `{}`, `{"_meta":{"annotations":{"openWorldHint":true},"x":1}}`, 1},
		{"content", licence{}, "tools/call", `{"content":[]}`, `{"content":[1]}`, 1},
		{"contract", licence{}, "tools/list", `{"tools":[{}]}`, `{"tools":[{"annotations":{"openWorldHint":true}}]}`, 0},
		{"hint overruled", licence{}, "tools/list", `{"tools":[{"annotations":{"readOnlyHint":true}}]}`,
			`{"tools":[{"annotations":{"readOnlyHint":false}}]}`, 1},
		{"untrusted hint overruled", licence{untrusted: true}, "tools/list",
			`{"tools":[{"annotations":{"readOnlyHint":true}}]}`, `{"tools":[{"annotations":{"readOnlyHint":false}}]}`, 0},
		{"title", licence{untrusted: true}, "tools/list", `{"tools":[{"annotations":{"title":"a"}}]}`,
			`{"tools":[{"annotations":{"title":"b"}}]}`, 1},
		{"era kept", licence{}, "prompts/list", `{}`, `{"resultType":"complete"}`, 1},
		{"era crossed", licence{crossing: true}, "prompts/list", `{}`,
			`{"resultType":"complete","ttlMs":0,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}}}`, 0},
	} {
		var was, is any
		decode(t, []byte(c.was), &was)
		decode(t, []byte(c.is), &is)
		refused := 0
		for _, change := range diff(nil, was, is) {
			if !c.licence.allows(c.method, change) {
				refused++
			}
		}
		if refused != c.refused {
			t.Errorf("%s: %d changes refused, want %d", c.name, refused, c.refused)
		}
	}
}
