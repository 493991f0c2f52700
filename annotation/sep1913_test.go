package annotation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"pgregory.net/rapid"
)

// The examples of SEP-1913: Action Metadata Examples, Pre-execution Annotation Refinement, Protocol Changes.
func TestSEP1913Examples(t *testing.T) {
	read := func(name string) []byte {
		doc, err := os.ReadFile(filepath.Join("testdata", "sep-1913", name))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	salaries := strs("mcp://file-server.acme.local/hr/salaries.xlsx")
	quiet := contract.Contract{Destinations: to(contract.Ephemeral), Accepts: sensitive(), Outcomes: does(contract.Benign)}
	drafts, inbox := quiet, quiet
	drafts.Sources, drafts.Returns = from(label.UserSource), sensitive(label.PII)
	inbox.Sources, inbox.Returns = from(label.UntrustedPublic), sensitive(label.PII, label.User)
	for _, test := range []struct {
		file string
		read func([]byte) (contract.Contract, []annotation.Defect)
		want contract.Contract
	}{
		{"read_drafts.json", annotation.ReadTool, drafts},
		{"list_inbox.json", annotation.ReadTool, inbox},
		{"send_email.json", annotation.ReadTool, contract.Contract{
			Destinations: to(contract.Public), Accepts: sensitive(label.PII, label.User), Outcomes: does(contract.Irreversible),
			Sources: from(label.System), Returns: sensitive(),
		}},
		{"resolved.json", annotation.ReadResolved, contract.Contract{
			ReadOnly: contract.Yes, OpenWorld: contract.No, Attribution: salaries,
			Sources: from(label.Internal), Returns: sensitive(label.Financial),
		}},
	} {
		got, defects := test.read(read(test.file))
		if diff := cmp.Diff(test.want, got); diff != "" || defects != nil {
			t.Errorf("%s: %s%v", test.file, diff, defects)
		}
	}
	claim, defects := annotation.ReadResult(read("result.json"))
	if !claim.Label.Equal(label.Label{Attribution: salaries}) || defects != nil {
		t.Errorf("result: %+v %v", claim, defects)
	}
	seen, defects := annotation.ReadRequest(read("request.json"))
	if !seen.Equal(label.Label{Attribution: salaries}) || defects != nil {
		t.Errorf("request: %+v %v", seen, defects)
	}
}

// almost draws annotations that are valid, or wrong in some place.
type almost struct{ *rapid.T }

func (t almost) pick(values ...string) string { return rapid.SampledFrom(values).Draw(t.T, "pick") }

// sometimes returns the value, and now and then something that is wrong nearly everywhere.
func (t almost) sometimes(value string) string {
	if rapid.IntRange(0, 19).Draw(t.T, "wrong") == 0 {
		return t.pick(`null`, `1`, `"wrong"`, `{}`, `{"x":1}`, `["wrong"]`, `[[]]`, `true`, `[null]`)
	}
	return value
}

func (t almost) oneOrMore(draw func() string) string {
	if rapid.Bool().Draw(t.T, "scalar") {
		return draw()
	}
	return t.array(draw, 1)
}

func (t almost) array(draw func() string, least int) string {
	items := make([]string, rapid.IntRange(least, 3).Draw(t.T, "items"))
	for i := range items {
		items[i] = t.sometimes(draw())
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (t almost) enum(values ...string) string {
	return t.oneOrMore(func() string { return t.pick(values...) })
}

func (t almost) classes() string {
	return t.oneOrMore(func() string {
		if rapid.IntRange(0, 2).Draw(t.T, "regulated") > 0 {
			return t.pick(`"none"`, `"user"`, `"pii"`, `"financial"`, `"credentials"`)
		}
		scopes := t.array(func() string { return t.pick(`"GDPR"`, `"HIPAA"`, `""`, `"x"`) }, 0)
		return t.object("regulated", t.object("scopes", scopes))
	})
}

// object draws an object of the members, given as names and values; it may lack one or have one too many.
func (t almost) object(members ...string) string {
	var parts []string
	for i := 0; i < len(members); i += 2 {
		if rapid.IntRange(0, 19).Draw(t.T, "missing") > 0 {
			parts = append(parts, `"`+members[i]+`":`+t.sometimes(members[i+1]))
		}
	}
	if rapid.IntRange(0, 19).Draw(t.T, "extra") == 0 {
		parts = append(parts, `"extra":1`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (t almost) annotations() string {
	members := []string{
		"title", `"T"`,
		"inputMetadata", t.object("destination", t.enum(`"ephemeral"`, `"system"`, `"user"`, `"internal"`, `"public"`),
			"sensitivity", t.classes(), "outcomes", t.enum(`"benign"`, `"consequential"`, `"irreversible"`)),
		"returnMetadata", t.object("source", t.enum(`"untrustedPublic"`, `"trustedPublic"`, `"internal"`, `"user"`, `"system"`),
			"sensitivity", t.classes()),
		"attribution", t.array(func() string { return t.pick(`"mcp://a"`, `"urn:b"`) }, 0),
	}
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "maliciousActivityHint"} {
		members = append(members, hint, t.pick("true", "false"))
	}
	return t.object(members...)
}

// What is read without a defect is what the JSON Schema of SEP-1913 accepts. The one exception is the empty array of
// possible values, which the schema accepts and which has no meaning.
func TestVerdictsAgreeWithTheSchema(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "tool-annotations.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(source, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		doc := almost{t}.annotations()
		var value any
		if err := json.Unmarshal([]byte(doc), &value); err != nil {
			t.Fatal(err)
		}
		invalid := resolved.Validate(value)
		_, defects := annotation.ReadTool([]byte(`{"annotations":` + doc + `}`))
		if (invalid == nil) != (len(defects) == 0) {
			t.Fatalf("%s\nschema: %v\ndefects: %v", doc, invalid, defects)
		}
		if invalid == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("the documents say nothing: %d accepted, %d refused", accepted, refused)
	}
}
