package annotation_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

func everyClass() []label.Class {
	return []label.Class{label.User, label.PII, label.Financial, label.Credentials, label.Regulated, label.Unspecified, "regulated:HIPAA", "regulated:é\"\\"}
}

func everySource() []label.Source {
	return []label.Source{label.UntrustedPublic, label.TrustedPublic, label.Internal, label.UserSource, label.System}
}

// anyLabel draws any label within the limits of reading.
func anyLabel(t *rapid.T) label.Label {
	l := label.Label{
		Untrusted: rapid.Bool().Draw(t, "untrusted"), Private: rapid.Bool().Draw(t, "private"), Malicious: rapid.Bool().Draw(t, "malicious"),
		Findings: strs(some(t, 0, "override", "é \"")...), Attribution: someURIs(t),
		Sensitivity: label.SetOf(some(t, 0, everyClass()...)...), Sources: label.SetOf(some(t, 0, everySource()...)...),
	}
	if rapid.Bool().Draw(t, "limited") {
		l.Readers = label.OnlyReaders(some(t, 0, "ann@acme.example", "bob", "é\"")...)
	}
	return l.Normal()
}

// anyContract draws any contract with values that the vocabularies have.
func anyContract(t *rapid.T) contract.Contract {
	hint := func() contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, "hint")) }
	c := contract.Contract{
		ReadOnly: hint(), Destructive: hint(), Idempotent: hint(), OpenWorld: hint(), Malicious: hint(), RequiresReview: hint(), Trusted: hint(),
		Output:      contract.Output{Unsafe: hint(), Secret: hint(), Private: hint(), Sensitive: hint()},
		Operation:   contract.Operation{AIProcessing: hint(), Slow: hint(), Costly: hint(), Privileged: hint(), Reversible: hint()},
		Attribution: someURIs(t),
	}
	known := func() bool { return rapid.Bool().Draw(t, "known") }
	if known() {
		c.Destinations = to(some(t, 1, contract.Ephemeral, contract.System, contract.User, contract.Internal, contract.Public)...)
	}
	if known() {
		c.Accepts = sensitive(some(t, 0, everyClass()...)...)
	}
	if known() {
		c.Outcomes = does(some(t, 1, contract.Benign, contract.Consequential, contract.Irreversible)...)
	}
	if known() {
		c.Sources = from(some(t, 1, everySource()...)...)
	}
	if known() {
		c.Returns = sensitive(some(t, 0, everyClass()...)...)
	}
	return c
}

// A writer in another configuration has some dialects more or less, and Weir's own.
func anyWriter(t *rapid.T) (w annotation.Writer, attributes bool) {
	if rapid.Bool().Draw(t, "default") {
		return annotation.Writer{}, true
	}
	ids := annotation.Lossless(some(t, 1, "mcp", "sep-1913", "sep-1913-2025-11", "sep-1560", "sep-1984", "trust-annotations", "action-metadata", "ifc", "ifc-readers")...)
	w, err := annotation.NewWriter(ids...)
	if err != nil {
		t.Fatal(err)
	}
	return w, slices.Contains(ids, "sep-1913") || slices.Contains(ids, "sep-1913-2025-11")
}

// The next Weir reads exactly the label that one Weir wrote: nothing is lost and nothing added, after any number of them.
func TestLabelsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyLabel(t)
		w, attributes := anyWriter(t)
		doc := []byte(`{"content":[]}`)
		for hop := range 3 {
			written, err := w.WriteResult(doc, want)
			if err != nil {
				t.Fatal(err)
			}
			claim, defects := annotation.ReadResult(written)
			got := claim.Label
			if !attributes {
				got.Attribution = want.Attribution
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("hop %d: %s\n%s%v", hop, written, diff, defects)
			}
			again, err := w.WriteResult(written, want)
			if err != nil || !bytes.Equal(again, written) {
				t.Fatalf("written again: %s, %v, want %s", again, err, written)
			}
			if rapid.Bool().Draw(t, "anew") { // as a result without _meta that the session's label is written into
				doc, want = []byte(`{"content":[]}`), got
			} else {
				doc = written
			}
		}
	})
}

func TestContractsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyContract(t)
		doc := []byte(`{"name":"t","inputSchema":{}}`)
		for hop := range 3 {
			written, err := annotation.WriteTool(doc, want)
			if err != nil {
				t.Fatal(err)
			}
			got, defects := annotation.ReadTool(written)
			if diff := cmp.Diff(want, got); diff != "" || len(defects) > 0 {
				t.Fatalf("hop %d: %s\n%s\n%s\n%v", hop, written, want, got, defects)
			}
			doc = written
		}
	})
}

// Whatever a result or a tool says already, writing covers it and what is written; a tool's old words never outlast the
// contract that is decided by.
func TestWritingCoversWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		result := []byte(inside(t, "content", `[]`, "_meta", inside(t, "annotations", annotated(t),
			"io.modelcontextprotocol/trust-annotations", `{"sensitive": true}`, "ifc", `{"integrity": "untrusted"}`, "dev.weir/label", `{"private": true}`)))
		before, _ := annotation.ReadResult(result)
		l := anyLabel(t)
		written, err := annotation.WriteResult(result, l)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := annotation.ReadResult(written)
		if want := label.Join(before.Label, l); !after.Label.Covers(want) || !want.Covers(after.Label.Taint()) {
			t.Fatalf("%s\nwith %+v\nis %s\n%s", result, l, written, cmp.Diff(want, after.Label))
		}
	})
}

// Every member that warns, each way to misspell its value, in each place where it is read: anything but a false or null warns.
func TestMalformedWarningsWarn(t *testing.T) {
	base := label.Label{}
	harmless := map[string]bool{`false`: true, `null`: true}
	for _, value := range []string{
		`true`, `"true"`, `"True"`, `"yes"`, `"on"`, `"false"`, `"no"`, `""`, `1`, `0`, `-1`, `1e0`, `[true]`, `[]`, `[false]`, `{}`, `{"value":true}`, `{"true":false}`,
		`false`, `null`,
	} {
		for name, want := range map[string]label.Label{
			"openWorldHint": {Untrusted: true}, "maliciousActivityHint": {Malicious: true}, "unsafeOutputHint": {Untrusted: true},
			"secretHint": {Sensitivity: label.SetOf(label.Credentials)}, "privateHint": {Private: true}, "sensitiveDataHint": {Sensitivity: label.SetOf(label.Unspecified)},
			"sensitive": {Sensitivity: label.SetOf(label.Unspecified)}, "untrusted": {Untrusted: true},
		} {
			if harmless[value] {
				want = base
			}
			for place, format := range map[string]string{
				"result": `{"_meta":{"annotations":{%q:%s}}}`, "block": `{"content":[{"type":"text","text":"","_meta":{"annotations":{%q:%s}}}]}`,
				"block's annotations": `{"content":[{"type":"text","text":"","annotations":{%q:%s}}]}`,
				"resource":            `{"content":[{"type":"resource","resource":{"uri":"a:b","_meta":{"annotations":{%q:%s}}}}]}`,
				"contents":            `{"contents":[{"uri":"a:b","_meta":{"annotations":{%q:%s}}}]}`,
				"message":             `{"messages":[{"role":"user","content":{"type":"text","_meta":{"annotations":{%q:%s}}}}]}`,
			} {
				if name == "sensitive" || name == "untrusted" {
					if place == "block's annotations" {
						continue
					}
					format = string(bytes.ReplaceAll([]byte(format), []byte(`"annotations"`), []byte(`"io.modelcontextprotocol/trust-annotations"`)))
				}
				doc := fmt.Sprintf(format, name, value)
				for _, d := range []string{doc, string(annotation.Outline([]byte(doc)))} {
					claim, _ := annotation.ReadResult([]byte(d))
					if !claim.Label.Equal(want.Normal()) {
						t.Errorf("%s: %s is %+v", place, d, claim.Label)
					}
				}
			}
		}
	}
}

// The same of a tool: any value of a hint but its harmless one counts as its warning.
func TestMalformedHintsOfToolsWarn(t *testing.T) {
	values := rapid.SampledFrom([]string{`"true"`, `"false"`, `1`, `0`, `[]`, `[true]`, `{}`, `""`, `"?"`, `1e9`})
	for _, name := range []string{
		"destructiveHint", "openWorldHint", "maliciousActivityHint", "secretHint", "unsafeOutputHint", "privateHint", "sensitiveDataHint", "sensitiveHint",
		"aiProcessingHint", "slowExecutionHint", "resourceIntensiveHint", "privilegedAccessHint",
	} {
		rapid.Check(t, func(t *rapid.T) {
			warning := "true"
			if name == "sensitiveHint" {
				warning = `"high"`
			}
			want, _ := annotation.ReadTool(fmt.Appendf(nil, `{"annotations":{%q:%s}}`, name, warning))
			value := values.Draw(t, "value")
			got, defects := annotation.ReadTool(fmt.Appendf(nil, `{"annotations":{%q:%s}}`, name, value))
			if diff := cmp.Diff(want, got); diff != "" || len(defects) != 1 || want.Equal(contract.Contract{}) {
				t.Fatalf("%s %s: %s%v", name, value, diff, defects)
			}
			none, _ := annotation.ReadTool(fmt.Appendf(nil, `{"annotations":{%q:null}}`, name))
			if !none.Equal(contract.Contract{}) {
				t.Fatalf("%s null: %v", name, none)
			}
		})
	}
}

// A value that no schema allows where a class, a source or an integrity should be warns as well.
func TestUnreadableLabelsWarn(t *testing.T) {
	unnamed := label.Label{Sensitivity: label.SetOf(label.Unspecified)}.Normal()
	untrusted := label.Label{Sources: label.SetOf(label.UntrustedPublic)}.Normal()
	for _, test := range []struct {
		meta string
		want label.Label
	}{
		{`{"annotations":{"sensitivity":"credentialz"}}`, unnamed},
		{`{"annotations":{"sensitivity":["pii",7]}}`, label.Join(unnamed, label.Label{Sensitivity: label.SetOf(label.PII)})},
		{`{"annotations":{"sensitivity":[]}}`, unnamed},
		{`{"annotations":{"returnMetadata":"credentials"}}`, label.Join(unnamed, untrusted)},
		{`{"annotations":{"source":"UNTRUSTED"}}`, untrusted},
		{`{"annotations":{"source":["system",1]}}`, label.Join(untrusted, label.Label{Sources: label.SetOf(label.System)})},
		{`{"annotations":[{"openWorldHint":true}]}`, label.Join(unnamed, label.Label{Untrusted: true})},
		{`{"ifc":{"integrity":"Untrusted","confidentiality":"PRIVATE"}}`, label.Label{Untrusted: true, Private: true}},
		{`{"ifc":{"integrity":false,"confidentiality":1}}`, label.Label{Untrusted: true, Private: true}},
		{`{"ifc":"untrusted"}`, label.Label{Untrusted: true, Private: true}},
		{`{"com.github.ifc/labels":{"$":{"integrity":0,"confidentiality":"ann"}}}`, label.Label{Untrusted: true, Readers: label.OnlyReaders()}.Normal()},
		{`{"com.github.ifc/labels":[]}`, label.Label{Untrusted: true, Readers: label.OnlyReaders()}.Normal()},
		{`{"io.modelcontextprotocol/trust-annotations":"untrusted"}`, label.Join(unnamed, label.Label{Untrusted: true})},
		{`{"dev.weir/label":true}`, label.Join(unnamed, label.Label{Untrusted: true})},
		{`{"dev.weir/label":{"malicious":"?","readers":"ann","sensitivity":["gossip"],"sources":5}}`,
			label.Join(label.Join(unnamed, untrusted), label.Label{Malicious: true, Readers: label.OnlyReaders()})},
	} {
		for _, doc := range []string{`{"_meta":` + test.meta + `}`, `{"content":[{"type":"text","_meta":` + test.meta + `}]}`} {
			claim, defects := annotation.ReadResult([]byte(doc))
			if diff := cmp.Diff(test.want, claim.Label); diff != "" || len(defects) == 0 {
				t.Errorf("%s: %s%v", doc, diff, defects)
			}
		}
	}
}

// A vocabulary that cannot name a class adds none where another one names it.
func TestNamedClassesExplainUnnamedWarnings(t *testing.T) {
	const trust = `"io.modelcontextprotocol/trust-annotations":{"sensitive":true}`
	for doc, want := range map[string]label.Set[label.Class]{
		`{"_meta":{` + trust + `}}`: label.SetOf(label.Unspecified),
		`{"_meta":{` + trust + `,"annotations":{"sensitivity":"credentials"}}}`:                                      label.SetOf(label.Credentials),
		`{"_meta":{` + trust + `,"annotations":{"sensitivity":"user"}}}`:                                             label.SetOf(label.User, label.Unspecified),
		`{"_meta":{` + trust + `,"annotations":{"source":"internal"}}}`:                                              label.SetOf(label.Unspecified),
		`{"_meta":{"annotations":{"sensitiveHint":"high","sensitivity":"pii"}}}`:                                     label.SetOf(label.PII),
		`{"_meta":{"annotations":{"sensitivity":"pii"}},"content":[{"_meta":{` + trust + `}}]}`:                      label.SetOf(label.PII, label.Unspecified),
		`{"content":[{"_meta":{"annotations":{"sensitivity":"pii"}}},{"_meta":{` + trust + `}}]}`:                    label.SetOf(label.PII, label.Unspecified),
		`{"_meta":{` + trust + `,"dev.weir/label":{"private":true}},"content":[{"_meta":{` + trust + `}}]}`:          label.SetOf(label.Unspecified),
		`{"_meta":{` + trust + `,"dev.weir/label":{"sensitivity":["unspecified"]},"annotations":{"source":"user"}}}`: label.SetOf(label.Unspecified),
	} {
		claim, _ := annotation.ReadResult([]byte(doc))
		if !claim.Label.Sensitivity.Equal(want) || !claim.Label.Private {
			t.Errorf("%s: %+v", doc, claim.Label)
		}
	}
}

// Hosts see nothing milder than the contract of the decision in the words that a tool has already, and no made-up regime.
func TestToolsSayNothingMilder(t *testing.T) {
	for _, test := range []struct {
		tool string
		c    contract.Contract
		want string
	}{
		{`{"annotations":{"returnMetadata":{"source":"system","sensitivity":"none"}}}`, contract.Contract{Sources: from(label.System), Returns: sensitive(label.Unspecified)},
			`{"annotations":{},"_meta":{"dev.weir/contract":{"source":["system"],"sensitivity":["unspecified"]}}}`},
		{`{"annotations":{"inputMetadata":{"Destination":"Ephemeral","Sensitivity":"None","Outcomes":"Benign"}}}`, contract.Contract{Destinations: to(contract.Public)},
			`{"annotations":{"inputMetadata":{"destination":"public","sensitivity":"none","outcomes":"benign"}}}`},
		{`{"_meta":{"io.modelcontextprotocol/action-metadata":{"outcome":"benign"}}}`, contract.Contract{Outcomes: does(contract.Irreversible)},
			`{"_meta":{"io.modelcontextprotocol/action-metadata":{"outcome":"irreversible"}}}`},
		{`{"annotations":{"privateHint":false}}`, contract.Contract{Output: contract.Output{Private: contract.Yes}}, `{"annotations":{"privateHint":true}}`},
	} {
		got, err := annotation.WriteTool([]byte(test.tool), test.c)
		if err != nil || !bytes.Equal(rawjson.Canonical(got), rawjson.Canonical([]byte(test.want))) {
			t.Errorf("%s: got %s, %v\nwant %s", test.tool, got, err, test.want)
		}
	}
}
