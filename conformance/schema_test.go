package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
)

// almost draws annotations that are valid, or, in one of two documents, wrong in some places.
type almost struct {
	*rapid.T
	right bool
}

// slips reports whether to go wrong here.
func (t almost) slips() bool { return !t.right && rapid.IntRange(0, 19).Draw(t.T, "wrong") == 0 }

func (t almost) pick(values ...string) string { return rapid.SampledFrom(values).Draw(t.T, "pick") }

// sometimes returns the value, and now and then something that is wrong nearly everywhere.
func (t almost) sometimes(value string) string {
	if t.slips() {
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
		if !t.slips() {
			parts = append(parts, `"`+members[i]+`":`+t.sometimes(members[i+1]))
		}
	}
	if t.slips() {
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

// A document is read without a defect if and only if the JSON Schema of SEP-1913 accepts it. The one exception is the
// empty array of possible values, which the schema accepts and which has no meaning.
func TestVerdictsAgreeWithTheSchema(t *testing.T) {
	source, ok := conformance.Schema("sep-1913")
	if !ok {
		t.Fatal("there is no schema")
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
		doc := almost{t, rapid.Bool().Draw(t, "right")}.annotations()
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

// The vectors of SEP-1913 agree with the schema as well, but for the limits that are ours.
func TestVectorsAgreeWithTheSchema(t *testing.T) {
	source, ok := conformance.Schema("sep-1913")
	if !ok {
		t.Fatal("there is no schema")
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(source, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"empty array", "65", "2049 bytes", "257 bytes"}
	checked := 0
	for _, f := range files(t) {
		for _, v := range f.Read {
			var document struct{ Annotations any }
			if f.Dialect != "sep-1913" || v.Place != "tool" || json.Unmarshal(v.Document, &document) != nil {
				continue
			}
			limit := false
			for _, words := range ours {
				limit = limit || strings.Contains(v.Name, words)
			}
			if err := resolved.Validate(document.Annotations); (err == nil) != (v.Kind != "invalid") && !limit {
				t.Errorf("%s is %s, and the schema says %v", v.Name, v.Kind, err)
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("%d vectors were checked", checked)
	}
}
