package draft_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		tool string
		want draft.Kind
	}{
		{`{"name":"get_user"}`, draft.Reads},
		{`{"name":"listPullRequests"}`, draft.Reads},
		{`{"name":"create-issue"}`, draft.Writes},
		{`{"name":"delete_file"}`, draft.Destroys},
		{`{"name":"send_email"}`, draft.Sends},
		{`{"name":"transferMoney"}`, draft.Pays},
		{`{"name":"run_shell"}`, draft.Executes},
		{`{"name":"frobnicate"}`, draft.Unclear},
		{`{"name":"frobnicate","description":"Delete everything"}`, draft.Destroys},
		{`{"name":7}`, draft.Unclear},
	} {
		if got := draft.Of(json.RawMessage(c.tool)); got.Kind != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.tool, got.Kind, c.want, got.Lines)
		}
	}
}

func TestRoles(t *testing.T) {
	d := draft.Of(json.RawMessage(`{"name":"send_email","inputSchema":{"properties":{"to":{},"body":{"type":"string"},"odd.name":{},"priority":{}}}}`))
	if len(d.Destinations) != 1 || d.Destinations[0].Argument != "to" || len(d.Contents) != 1 || d.Contents[0].Argument != "body" {
		t.Errorf("destinations %+v, contents %+v", d.Destinations, d.Contents)
	}
}

// TestPartsOf holds the signs by which arguments get their parts. In doubt they are destinations.
func TestPartsOf(t *testing.T) {
	for _, c := range []struct{ name, argument, schema, want string }{
		{"send_note", "x", `{"type":"string","format":"email"}`, "destination"},
		{"send_note", "x", `{"type":"array","items":{"type":"string","format":"uri"}}`, "destination"},
		{"send_note", "when", `{"type":"string","format":"date-time"}`, "content"},
		{"send_note", "recipient_list", `{}`, "destination"},
		{"send_note", "candidateId", `{}`, "destination"},
		{"send_note", "body", `{"type":"string","description":"For the address"}`, "content"},
		{"send_note", "x", `{"type":"string","description":"The address of the person"}`, "destination"},
		{"send_note", "x", `{"type":"string"}`, "destination"},
		{"send_note", "urgent", `{"type":"boolean"}`, "content"},
		{"send_note", "public", `{"type":"boolean"}`, "destination"},
		{"send_note", "shareScope", `{"enum":["me","all"]}`, "destination"},
		{"send_note", "stage", `{"enum":["a","b"]}`, "content"},
		{"send_note", "channel", `{"enum":["a","b"]}`, "destination"},
		{"send_note", "body", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, "content"},
		{"send_note", "body", `{"anyOf":[{"$ref":"#/$defs/Item"},{"type":"null"}]}`, "destination"},
		{"send_note", "body", `{"oneOf":[{"type":"object","properties":{"visibility":{}}}]}`, "destination"},
		{"send_note", "body", `{"$ref":"#/$defs/Item"}`, "destination"},
		{"send_note", "body", `{"type":"array","items":{"$ref":"#/$defs/Item"}}`, "destination"},
		{"send_note", "body", `{"type":"object","allOf":[{"properties":{"visibility":{}}}]}`, "destination"},
		{"send_note", "body", `{}`, "destination"},
		{"send_note", "body", `true`, "destination"},
		{"send_note", "body", `{"not":{"type":"null"}}`, "destination"},
		{"send_note", "body", `{"$recursiveRef":"#"}`, "destination"},
		{"send_note", "body", `{"type":"object"}`, "destination"},
		{"send_note", "body", `{"type":["string","object"]}`, "destination"},
		{"send_note", "body", `{"type":"string","extends":{"properties":{"visibility":{}}}}`, "destination"},
		{"send_note", "body", `{"type":"array"}`, "destination"},
		{"send_note", "body", `{"type":"array","items":[{"type":"string"}]}`, "destination"},
		{"send_note", "body", `{"type":"array","items":{"type":"string"},"additionalItems":{"properties":{"visibility":{}}}}`, "destination"},
		{"send_note", "body", `{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"visibility":{}}}}}`, "destination"},
		{"send_note", "body", `{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, "content"},
		{"send_note", "body", `{"type":"object","properties":{"note":{}},"dependencies":{"note":{"properties":{"visibility":{}}}}}`, "destination"},
		{"send_note", "stage", `{"enum":["a",{"visibility":"all"}]}`, "destination"},
		{"send_note", "amount", `{"type":"number","minimum":0,"title":"Amount","x-unit":"EUR"}`, "content"},
		{"send_note", "amount", `{"type":"string"}`, "destination"},
		{"create_note", "title", `{"type":"string"}`, "content"},
		{"update_note", "title", `{"type":"string"}`, "destination"},
		{"update_note", "body", `{"type":"string"}`, "content"},
		{"delete_note", "body", `{"type":"string"}`, "destination"},
		{"delete_note", "scope", `{"enum":["one","all"]}`, "destination"},
		{"run_note", "urgent", `{"type":"boolean"}`, "destination"},
		{"send_note", "a.b", `{"type":"string"}`, ""},
	} {
		p := draft.PartsOf(json.RawMessage(`{"name":"` + c.name + `","inputSchema":{"properties":{"` + c.argument + `":` + c.schema + `}}}`))
		got := ""
		for part, all := range map[string][]draft.Role{"destination": p.Destinations, "content": p.Contents} {
			for _, r := range all {
				if got += part; r.Argument != c.argument || r.Reason == "" {
					t.Errorf("%s %s: %+v", c.name, c.argument, r)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %s %s is drafted as %q, want %q", c.name, c.argument, c.schema, got, c.want)
		}
	}
}

// TestPartsInside holds that members of objects, and of those in lists, have parts of their own.
func TestPartsInside(t *testing.T) {
	p := draft.PartsOf(json.RawMessage(`{"name":"manage","inputSchema":{"properties":{"request":{"properties":{"ids":{},"status":{"enum":["a"]}}},` +
		`"rows":{"items":{"properties":{"id":{},"note":{"type":"string"}}}}}}}`))
	var got []string
	for _, r := range append(p.Destinations, p.Contents...) {
		got = append(got, r.Argument)
	}
	if want := []string{"request.ids", "rows[*].id", "request.status", "rows[*].note"}; !slices.Equal(got, want) || len(p.Destinations) != 2 {
		t.Errorf("the parts are %q, want %q", got, want)
	}
}

// hostile are names that could break out of the file.
var hostile = []string{"a: b", "x\n  evil: {}", `"quoted"`, `back\slash`, "# comment", "*", "- list", "\u2028", "tab\t", "ünïcode", "{}", "!!binary"}

// Write writes an overlay that loads, is a draft, describes every tool, and lowers no assumption.
func TestWrite(t *testing.T) {
	var drafts []draft.Draft
	for _, name := range hostile {
		tool, err := json.Marshal(map[string]any{"name": name, "description": "Delete " + name,
			"inputSchema": map[string]any{"properties": map[string]any{name: map[string]any{}, "to": map[string]any{}}}})
		if err != nil {
			t.Fatal(err)
		}
		drafts = append(drafts, draft.Of(tool))
	}
	drafts = append(drafts, draft.Of(json.RawMessage(`{"name":"get_secret","annotations":{"readOnlyHint":true}}`)))
	for _, about := range []draft.Server{{Name: "s", Drafts: drafts}, {Name: "s", Package: "@x/y", Drafts: drafts}, {Name: "s", URL: "https://x.example/mcp", Drafts: drafts}} {
		var out bytes.Buffer
		if err := draft.Write(&out, []draft.Server{about}); err != nil {
			t.Fatal(err)
		}
		set, err := overlay.Load("draft.yaml", out.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		o := set.For(overlay.Server{Name: "s", Command: []string{"npx", about.Package}, URL: about.URL})
		for _, name := range hostile {
			tool := o.Tool(name)
			if said := tool.Said(); len(said) == 0 || !said[0].Entry.Draft {
				t.Errorf("nothing is drafted for %q", name)
			}
			if !tool.Static().Equal(contract.Contract{}) || tool.Roles([]byte(`{"to":"x"}`)).Known {
				t.Errorf("a draft of %q counts as the operator's word: %v", name, tool.Static())
			}
		}
		if l := o.Tool("get_secret").Label([]byte(`{"content":[]}`)); !l.Sensitivity.Has(label.Credentials) {
			t.Errorf("the draft does not raise: %+v", l)
		}
		if !strings.Contains(out.String(), "high: ") {
			t.Error("no line has its confidence")
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("send_email", "Sends", "to")
	f.Fuzz(func(t *testing.T, name, description, argument string) {
		tool, err := json.Marshal(map[string]any{"name": name, "description": description,
			"inputSchema": map[string]any{"properties": map[string]any{argument: 1}}})
		if err != nil {
			t.Skip()
		}
		d := draft.Of(tool)
		if d.Tool == "" || len(d.Tool) > 200 {
			return
		}
		var out bytes.Buffer
		if err := draft.Write(&out, []draft.Server{{Name: "s", Drafts: []draft.Draft{d}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := overlay.Load("draft.yaml", out.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}

// TestPartial holds that a draft says so where it leaves an argument out.
func TestPartial(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"properties":{"to":{},"body":{}}}`: false, `{"properties":{"body":{},"body.visibility":{}}}`: true,
		`{"properties":{"a":{"properties":{"b[0]":{}}}}}`: true, `{}`: false,
	} {
		if p := draft.PartsOf(json.RawMessage(`{"name":"send","inputSchema":` + schema + `}`)); p.Partial != want {
			t.Errorf("%s: %+v", schema, p)
		}
	}
}
