package annotation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

func TestWriteTool(t *testing.T) {
	input := contract.Contract{Destinations: to(contract.Public), Accepts: sensitive(), Outcomes: does(contract.Benign)}
	wide := contract.Contract{Destinations: to(contract.Public, contract.Ephemeral)}
	for _, test := range []struct {
		name, tool string
		c          contract.Contract
		want       string
	}{
		{"nothing", `{"name":"t"}`, contract.Contract{}, `{"name":"t"}`},
		{"hints", `{"name":"t"}`, contract.Contract{ReadOnly: contract.No, Destructive: contract.Yes, Idempotent: contract.No, OpenWorld: contract.Yes},
			`{"name":"t","annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}`},
		{"a hint that says so already", `{"annotations":{ "readOnlyHint" : true }}`, contract.Contract{ReadOnly: contract.Yes},
			`{"annotations":{ "readOnlyHint" : true }}`},
		{"a hint changes in place", `{"annotations":{ "x":1, "readOnlyHint" : true , "y":2 }}`, contract.Contract{ReadOnly: contract.No},
			`{"annotations":{ "x":1, "readOnlyHint" : false , "y":2 }}`},
		{"an unknown hint stays", `{"annotations":{"readOnlyHint":true}}`, contract.Contract{OpenWorld: contract.No},
			`{"annotations":{"readOnlyHint":true,"openWorldHint":false}}`},
		{"a defect gives way", `{"annotations":{"readOnlyHint":"yes"}}`, contract.Contract{ReadOnly: contract.No}, `{"annotations":{"readOnlyHint":false}}`},
		{"a defect stays where nothing is known", `{"annotations":{"readOnlyHint":"yes"}}`, contract.Contract{}, `{"annotations":{"readOnlyHint":"yes"}}`},
		{"annotations of a wrong type give way", `{"annotations":[1],"x":2}`, contract.Contract{ReadOnly: contract.No},
			`{"annotations":{"readOnlyHint":false},"x":2}`},
		{"malicious", `{}`, contract.Contract{Malicious: contract.Yes}, `{"annotations":{"maliciousActivityHint":true}}`},
		{"attribution", `{}`, contract.Contract{Attribution: strs("b", "a")}, `{"annotations":{"attribution":["a","b"]}}`},
		{"attribution is added to", `{"annotations":{"attribution":[ "b", "c" ]}}`, contract.Contract{Attribution: strs("b", "a")},
			`{"annotations":{"attribution":["a","b","c"]}}`},
		{"attribution is there", `{"annotations":{"attribution":[ "b", "\u0061" ]}}`, contract.Contract{Attribution: strs("b", "a")},
			`{"annotations":{"attribution":[ "b", "\u0061" ]}}`},
		{"attribution of a wrong type", `{"annotations":{"attribution":["b",1]}}`, contract.Contract{Attribution: strs("a", "b")},
			`{"annotations":{"attribution":["a","b"]}}`},
		{"inputMetadata", `{}`, input, `{"annotations":{"inputMetadata":{"destination":"public","sensitivity":"none","outcomes":"benign"}}}`},
		{"inputMetadata not whole", `{}`, wide, `{"_meta":{"dev.weir/contract":{"destination":["ephemeral","public"]}}}`},
		{"inputMetadata grows", `{"annotations":{"inputMetadata":{"destination":"ephemeral"}}}`, wide,
			`{"annotations":{"inputMetadata":{"destination":["ephemeral","public"]}}}`},
		{"inputMetadata says so already", `{"annotations":{"inputMetadata":{"destination":["public", "ephemeral"]}}}`, wide,
			`{"annotations":{"inputMetadata":{"destination":["public", "ephemeral"]}}}`},
		{"inputMetadata keeps what it has", `{"annotations":{"inputMetadata":{"x":1,"outcomes":"mad","destination":"user"}}}`, input,
			`{"annotations":{"inputMetadata":{"x":1,"outcomes":"benign","destination":"public","sensitivity":"none"}}}`},
		{"inputMetadata of a wrong type", `{"annotations":{"inputMetadata":null}}`, input,
			`{"annotations":{"inputMetadata":{"destination":"public","sensitivity":"none","outcomes":"benign"}}}`},
		{"returnMetadata", `{}`, contract.Contract{Sources: from(label.System, label.Internal), Returns: sensitive(label.PII, label.User, "regulated:GDPR")},
			`{"annotations":{"returnMetadata":{"source":["internal","system"],"sensitivity":["pii","user",{"regulated":{"scopes":["GDPR"]}}]}}}`},
		{"regulated", `{}`, contract.Contract{Sources: from(label.System), Returns: sensitive("regulated:A", "regulated:B\"", label.Regulated)},
			`{"annotations":{"returnMetadata":{"source":"system","sensitivity":[{"regulated":{"scopes":["A","B\""]}},{"regulated":{"scopes":[]}}]}}}`},
		{"a class without a word", `{}`, contract.Contract{Sources: from(label.System), Returns: sensitive(label.Unspecified)},
			`{"_meta":{"dev.weir/contract":{"source":["system"],"sensitivity":["unspecified"]}}}`},
		{"a value without a word", `{}`, contract.Contract{Sources: from("mars"), Returns: sensitive()}, `{"_meta":{"dev.weir/contract":{"sensitivity":[]}}}`},
		{"no possible value", `{}`, contract.Contract{Sources: from(), Returns: sensitive()}, `{"_meta":{"dev.weir/contract":{"sensitivity":[]}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := annotation.WriteTool([]byte(test.tool), test.c)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestWriteResult(t *testing.T) {
	untrusted := label.Label{Untrusted: true}
	for _, test := range []struct {
		name, result string
		l            label.Label
		want         string
	}{
		{"nothing", `{"content":[]}`, label.Label{}, `{"content":[]}`},
		{"untrusted", `{"content":[]}`, untrusted, `{"content":[],"_meta":{"annotations":{"openWorldHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"untrusted by its source", `{}`, label.Label{Sources: label.SetOf(label.UntrustedPublic)}, `{"_meta":{"annotations":{"openWorldHint":true,"source":"untrustedPublic"},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"untrusted by the source it claims", `{"_meta":{"annotations":{"source":"untrustedPublic"}}}`, label.Label{},
			`{"_meta":{"annotations":{"source":"untrustedPublic","openWorldHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"meta is kept", `{"_meta":{"x":1},"content":[]}`, untrusted, `{"_meta":{"x":1,"annotations":{"openWorldHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}},"content":[]}`},
		{"raised", `{"_meta":{"annotations":{"openWorldHint":false, "x":1}}}`, untrusted, `{"_meta":{"annotations":{"openWorldHint":true, "x":1},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"never lowered", `{"_meta":{"annotations":{"openWorldHint":true,"maliciousActivityHint":true}}}`, label.Label{},
			`{"_meta":{"annotations":{"openWorldHint":true,"maliciousActivityHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"false stays", `{"_meta":{"annotations":{"openWorldHint":false}}}`, label.Label{Attribution: strs("a")},
			`{"_meta":{"annotations":{"openWorldHint":false,"attribution":["a"]}}}`},
		{"a defect gives way", `{"_meta":{"annotations":{"openWorldHint":"no"}}}`, untrusted, `{"_meta":{"annotations":{"openWorldHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}`},
		{"annotations of a wrong type", `{"_meta":{"annotations":[], "x":1}}`, untrusted, `{"_meta":{"annotations":{"openWorldHint":true}, "x":1,"io.modelcontextprotocol/trust-annotations":{"untrusted":true,"sensitive":true}}}`},
		{"meta of a wrong type", `{"_meta":"?","x":1}`, untrusted, `{"_meta":{"annotations":{"openWorldHint":true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}},"x":1}`},
		{"malicious", `{}`, label.Label{Malicious: true, Findings: strs("f")}, `{"_meta":{"annotations":{"maliciousActivityHint":true},"dev.weir/label":{"findings":["f"]}}}`},
		{"sensitivity without a source", `{}`, label.Label{Sensitivity: label.SetOf(label.PII)}, `{"_meta":{"annotations":{"sensitivity":"pii"},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`},
		{"a source without sensitivity", `{}`, label.Label{Sources: label.SetOf(label.System)}, `{"_meta":{"annotations":{"source":"system"}}}`},
		{"both", `{}`, label.Label{Sources: label.SetOf(label.System), Sensitivity: label.SetOf(label.PII)},
			`{"_meta":{"annotations":{"returnMetadata":{"source":"system","sensitivity":"pii"}},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`},
		{"a source beside the server's none", `{"_meta":{"annotations":{"returnMetadata":{"source":"system","sensitivity":"none"}}}}`,
			label.Label{Sources: label.SetOf(label.Internal)},
			`{"_meta":{"annotations":{"returnMetadata":{"source":["internal","system"],"sensitivity":"none"}},"io.modelcontextprotocol/trust-annotations":{"sensitive":true},"dev.weir/label":{"private":true}}}`},
		{"more sensitive than claimed", `{"_meta":{"annotations":{"returnMetadata":{"source":"system","sensitivity":"none"}}}}`,
			label.Label{Sensitivity: label.SetOf(label.Unspecified)},
			`{"_meta":{"annotations":{"source":"system"},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`},
		{"as sensitive as claimed", `{"_meta":{"annotations":{"returnMetadata":{"source":"system","sensitivity":["pii", "none"]}}}}`,
			label.Label{Sources: label.SetOf(label.System), Sensitivity: label.SetOf(label.PII)},
			`{"_meta":{"annotations":{"returnMetadata":{"source":"system","sensitivity":["pii", "none"]}},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`},
		{"the two halves", `{"_meta":{"annotations":{"sensitivity":"pii"}}}`, label.Label{Sources: label.SetOf(label.System)},
			`{"_meta":{"annotations":{"sensitivity":"pii","returnMetadata":{"source":"system","sensitivity":"pii"}},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := annotation.WriteResult([]byte(test.result), test.l)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestWriteRequest(t *testing.T) {
	seen := label.Label{Untrusted: true, Malicious: true, Attribution: strs("a")}
	for _, test := range []struct {
		name, params string
		l            label.Label
		attribution  bool
		want         string
	}{
		{"nothing", `{"name":"t"}`, label.Label{}, true, `{"name":"t"}`},
		{"untrusted", `{"name":"t"}`, seen, false, `{"name":"t","_meta":{"annotations":{"openWorldHint":true}}}`},
		{"with attribution", `{}`, seen, true, `{"_meta":{"annotations":{"openWorldHint":true,"attribution":["a"]}}}`},
		{"beside the client's", `{"_meta":{"progressToken":1,"annotations":{"attribution":["b"]}}}`, seen, true,
			`{"_meta":{"progressToken":1,"annotations":{"attribution":["a","b"],"openWorldHint":true}}}`},
		{"never lowered", `{"_meta":{"annotations":{"openWorldHint":true,"attribution":["b"]}}}`, label.Label{}, false,
			`{"_meta":{"annotations":{"openWorldHint":true,"attribution":["b"]}}}`},
		{"a trace context is kept", `{"_meta":{"traceparent":"00-0","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, seen, false,
			`{"_meta":{"traceparent":"00-0","io.modelcontextprotocol/protocolVersion":"2026-07-28","annotations":{"openWorldHint":true}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := annotation.WriteRequest([]byte(test.params), test.l, test.attribution)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestWriteRefusesWhatIsNoObject(t *testing.T) {
	for _, doc := range []string{`[]`, `null`, `"{}"`, ``, `1`} {
		_, tool := annotation.WriteTool([]byte(doc), contract.Contract{})
		_, result := annotation.WriteResult([]byte(doc), label.Label{})
		_, request := annotation.WriteRequest([]byte(doc), label.Label{}, false)
		for _, err := range []error{tool, result, request} {
			if !errors.Is(err, rawjson.ErrNotObject) {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}

// A server that fills the annotations up to the limits must not hide what Weir adds from the next reader.
func TestWriteResultIsReadPastTheLimits(t *testing.T) {
	full := `{"_meta":{"annotations":{"attribution":[` + repeat(64, `"mcp://x/%d"`) + `],"returnMetadata":{"source":"system","sensitivity":{"regulated":{"scopes":[` +
		repeat(64, `"zz%d"`) + `]}}}}}}`
	l := label.Label{Attribution: strs("mcp://weir"), Sources: label.SetOf(label.Internal), Sensitivity: label.SetOf(label.Credentials, "regulated:GDPR",
		label.RegulatedBy(strings.Repeat("long", 100)))}
	doc, err := annotation.WriteResult([]byte(full), l)
	if err != nil {
		t.Fatal(err)
	}
	claim, _ := annotation.ReadResult(doc)
	for _, class := range []label.Class{label.Credentials, label.Regulated, "regulated:GDPR"} {
		if !claim.Label.Sensitivity.Has(class) {
			t.Errorf("%s is lost", class)
		}
	}
	if !claim.Label.Attribution.Has("mcp://weir") || !claim.Label.Sources.Has(label.Internal) {
		t.Errorf("lost: %+v", claim.Label)
	}
}

// A reference is written as it is read, where trust-annotations are written, and takes no place of another.
func TestWriteEvidence(t *testing.T) {
	e := annotation.Evidence{Type: "x.v1", Digest: "sha256:" + strings.Repeat("0a", 32), Canonicalization: annotation.JCS, Ref: "urn:x"}
	out, err := annotation.Writer{}.WriteEvidence([]byte(`{"content":[]}`), e)
	if claim, defects := annotation.ReadResult(out); err != nil || len(defects) > 0 || !slices.Equal(claim.Evidence, []annotation.Evidence{e}) {
		t.Errorf("%s reads as %+v, %v, %v", out, claim, defects, err)
	}
	other := e
	other.Ref = "urn:y"
	if again, err := (annotation.Writer{}).WriteEvidence(out, other); err != nil || string(again) != string(out) {
		t.Errorf("%s: %v", again, err)
	}
	if mute, err := writer(t, "sep-1913").WriteEvidence([]byte(`{}`), e); err != nil || string(mute) != `{}` {
		t.Errorf("%s: %v", mute, err)
	}
	for _, bad := range []annotation.Evidence{{}, {Type: "x", Digest: "sha256:0", Canonicalization: annotation.JCS}} {
		if out, err := (annotation.Writer{}).WriteEvidence([]byte(`{}`), bad); err == nil || string(out) != `{}` {
			t.Errorf("%+v is written as %s", bad, out)
		}
	}
}
