package hostfile_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
)

var hookElement = []hostfile.Element{
	{Array: []string{"hooks", "PreToolUse"}, Value: []byte(`{"hooks":[{"type":"command","command":"weir"}]}`)},
	{Array: []string{"hooks", "SessionStart"}, Value: []byte(`{"hooks":[{"type":"command","command":"weir start"}]}`)},
}

// TestElements puts elements into files and takes them out again: the bytes are those from before where nothing else has changed.
func TestElements(t *testing.T) {
	for _, c := range []struct{ name, src, put, back string }{
		{"an object on lines", "{\n}\n", `{
  "hooks": {
    "PreToolUse": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "weir"
          }
        ]
      }
    ],
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "weir start"
          }
        ]
      }
    ]
  }
}
`, "{\n}\n"},
		{"one line", `{"a":1,"hooks":{"PreToolUse":[{"x":1}]}}`,
			`{"a":1,"hooks":{"PreToolUse":[{"x":1},{"hooks":[{"type":"command","command":"weir"}]}],` +
				`"SessionStart": [{"hooks":[{"type":"command","command":"weir start"}]}]}}`, ""},
		{"comments and trailing commas", "{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"x\": 1}, // one\n    ],\n  },\n}\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := hostfile.Append(hosts.JSONC, []byte(c.src), hookElement)
			if err != nil {
				t.Fatal(err)
			}
			if c.put != "" && string(out) != c.put {
				t.Errorf("put:\n%s", cmp.Diff(c.put, string(out)))
			}
			back, err := hostfile.Without(hosts.JSONC, out, []byte(c.src), hookElement)
			if err != nil {
				t.Fatal(err)
			}
			if c.back == "" {
				c.back = c.src
			}
			if string(back) != c.back {
				t.Errorf("back:\n%s", cmp.Diff(c.back, string(back)))
			}
		})
	}
}

// TestElementsRefuse has values that are no list, or in no format whose arrays are edited.
func TestElementsRefuse(t *testing.T) {
	for _, c := range []struct {
		format hosts.Format
		src    string
	}{{hosts.JSON, `{"hooks":[]}`}, {hosts.JSON, `{"hooks":{"PreToolUse":{}}}`}, {hosts.JSON, `[]`}, {hosts.JSON, `{"a":1,}`}, {hosts.TOML, ``}} {
		if out, err := hostfile.Append(c.format, []byte(c.src), hookElement); err == nil {
			t.Errorf("%s: %s", c.src, out)
		}
	}
}

// TestElementsOfAnyFile puts elements into generated JSON and takes them out: the meaning is that from before.
func TestElementsOfAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b/c", "d~e", "permissions"}), rapid.ID).Draw(t, "names") {
			object[name] = rapid.SampledFrom([]any{nil, 1.5, "x", []any{}, map[string]any{"hooks": []any{}}}).Draw(t, "value")
		}
		if rapid.Bool().Draw(t, "hooks") {
			events := map[string]any{}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"PreToolUse", "Stop"}), rapid.ID).Draw(t, "events") {
				n := rapid.IntRange(0, 3).Draw(t, "n")
				list := []any{}
				for i := range n {
					list = append(list, map[string]any{"matcher": float64(i)})
				}
				events[name] = list
			}
			object["hooks"] = events
		}
		indent := rapid.SampledFrom([]string{"", "  ", "\t"}).Draw(t, "indent")
		src, err := json.Marshal(object)
		if indent != "" {
			src, err = json.MarshalIndent(object, "", indent)
		}
		if err != nil {
			t.Fatal(err)
		}
		put, err := hostfile.Append(hosts.JSON, src, hookElement)
		if err != nil {
			t.Fatalf("%v in\n%s", err, src)
		}
		for _, e := range hookElement {
			all, err := hostfile.Elements(hosts.JSON, put, e.Array)
			if err != nil || len(all) == 0 || cmp.Diff(decoded(t, all[len(all)-1].Value), decoded(t, e.Value)) != "" {
				t.Fatalf("%v: %v in\n%s", err, e.Array, put)
			}
		}
		back, err := hostfile.Without(hosts.JSON, put, src, hookElement)
		if err != nil {
			t.Fatalf("%v in\n%s", err, put)
		}
		if diff := cmp.Diff(decoded(t, src), decoded(t, back)); diff != "" {
			t.Fatalf("%s\nfrom\n%s\nto\n%s", diff, src, back)
		}
	})
}

func decoded(t *rapid.T, text []byte) (v any) {
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
