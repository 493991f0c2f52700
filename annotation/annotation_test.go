package annotation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// Short names for the values of contracts.
type (
	dests    = contract.Values[contract.Destination]
	classes  = contract.Values[label.Class]
	outcomes = contract.Values[contract.Outcome]
	sources  = contract.Values[label.Source]
)

func to(d ...contract.Destination) dests  { return contract.Possible(d...) }
func sensitive(c ...label.Class) classes  { return contract.Possible(c...) }
func does(o ...contract.Outcome) outcomes { return contract.Possible(o...) }
func from(s ...label.Source) sources      { return contract.Possible(s...) }
func strs(s ...string) label.Set[string]  { return label.SetOf(s...) }
func repeat(n int, format string) string  { return strings.Join(numbered(n, format), ",") }
func wheres(defects []annotation.Defect) []string {
	return each(defects, func(d annotation.Defect) string { return d.Where })
}
func lines(defects []annotation.Defect) []string { return each(defects, annotation.Defect.String) }

func numbered(n int, format string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

func each(defects []annotation.Defect, f func(annotation.Defect) string) []string {
	var out []string
	for _, d := range defects {
		out = append(out, f(d))
	}
	return out
}

// One line a case: a tool's annotations, their meaning, and the places where they are defective.
func TestReadTool(t *testing.T) {
	long := strings.Repeat("x", 2049)
	for _, test := range []struct {
		annotations string
		want        contract.Contract
		defects     []string // without the leading "annotations."
	}{
		{`{}`, contract.Contract{}, nil},
		{`{"unknown":{"x":[1]},"vendor/x":2}`, contract.Contract{}, nil},

		// The hints of MCP.
		{`{"title":"A tool"}`, contract.Contract{}, nil},
		{`{"title":1}`, contract.Contract{}, []string{"title"}},
		{`{"readOnlyHint":true}`, contract.Contract{ReadOnly: contract.Yes}, nil},
		{`{"readOnlyHint":false}`, contract.Contract{ReadOnly: contract.No}, nil},
		{`{"readOnly\u0048int":true}`, contract.Contract{ReadOnly: contract.Yes}, nil},
		{`{"readonlyhint":true}`, contract.Contract{}, nil},
		{`{"readOnlyHint":"true"}`, contract.Contract{}, []string{"readOnlyHint"}},
		{`{"readOnlyHint":1}`, contract.Contract{}, []string{"readOnlyHint"}},
		{`{"readOnlyHint":null}`, contract.Contract{}, []string{"readOnlyHint"}},
		{`{"readOnlyHint":[true]}`, contract.Contract{}, []string{"readOnlyHint"}},
		{`{"destructiveHint":true}`, contract.Contract{Destructive: contract.Yes}, nil},
		{`{"destructiveHint":false}`, contract.Contract{Destructive: contract.No}, nil},
		{`{"destructiveHint":{}}`, contract.Contract{Destructive: contract.Yes}, []string{"destructiveHint"}},
		{`{"idempotentHint":true}`, contract.Contract{Idempotent: contract.Yes}, nil},
		{`{"idempotentHint":0}`, contract.Contract{}, []string{"idempotentHint"}},
		{`{"openWorldHint":true}`, contract.Contract{OpenWorld: contract.Yes}, nil},
		{`{"openWorldHint":false}`, contract.Contract{OpenWorld: contract.No}, nil},
		{`{"openWorldHint":"no"}`, contract.Contract{OpenWorld: contract.Yes}, []string{"openWorldHint"}},
		{`{"readOnlyHint":1,"openWorldHint":true}`, contract.Contract{OpenWorld: contract.Yes}, []string{"readOnlyHint"}},

		// maliciousActivityHint and attribution.
		{`{"maliciousActivityHint":true}`, contract.Contract{Malicious: contract.Yes}, nil},
		{`{"maliciousActivityHint":false}`, contract.Contract{Malicious: contract.No}, nil},
		{`{"maliciousActivityHint":null}`, contract.Contract{}, []string{"maliciousActivityHint"}},
		{`{"attribution":[]}`, contract.Contract{}, nil},
		{`{"attribution":["mcp://a/b","urn:c","mcp://a/b"]}`, contract.Contract{Attribution: strs("mcp://a/b", "urn:c")}, nil},
		{`{"attribution":["\u0061"]}`, contract.Contract{Attribution: strs("a")}, nil},
		{`{"attribution":"mcp://a"}`, contract.Contract{}, []string{"attribution"}},
		{`{"attribution":["a",1]}`, contract.Contract{}, []string{"attribution[1]"}},
		{`{"attribution":[["a"]]}`, contract.Contract{}, []string{"attribution[0]"}},
		{`{"attribution":["` + long[1:] + `"]}`, contract.Contract{Attribution: strs(long[1:])}, nil},
		{`{"attribution":["a","` + long + `"]}`, contract.Contract{Attribution: strs("a")}, []string{"attribution[1]"}},
		{`{"attribution":[` + repeat(64, `"%d"`) + `]}`, contract.Contract{Attribution: strs(numbered(64, "%d")...)}, nil},
		{`{"attribution":[` + repeat(66, `"%d"`) + `]}`, contract.Contract{Attribution: strs(numbered(64, "%d")...)}, []string{"attribution"}},

		// inputMetadata as a whole.
		{`{"inputMetadata":[]}`, contract.Contract{Destinations: to(contract.Public), Outcomes: does(contract.Irreversible)}, []string{"inputMetadata"}},
		{`{"inputMetadata":null}`, contract.Contract{}, []string{"inputMetadata"}},
		{`{"inputMetadata":{}}`, contract.Contract{}, []string{"inputMetadata.destination", "inputMetadata.sensitivity", "inputMetadata.outcomes"}},
		{`{"inputMetadata":{"destination":"user","sensitivity":"none","outcomes":"benign"}}`,
			contract.Contract{Destinations: to(contract.User), Accepts: sensitive(), Outcomes: does(contract.Benign)}, nil},
		{`{"inputMetadata":{"destination":"user","sensitivity":"none","outcomes":"benign","x":1}}`,
			contract.Contract{Destinations: to(contract.User), Accepts: sensitive(), Outcomes: does(contract.Benign)}, []string{"inputMetadata.x"}},
		{`{"inputMetadata":{"destination":"user"}}`, contract.Contract{Destinations: to(contract.User)},
			[]string{"inputMetadata.sensitivity", "inputMetadata.outcomes"}},
		{`{"inputMetadata":{"Destination":"user","sensitivity":"none","outcomes":"benign"}}`,
			contract.Contract{Accepts: sensitive(), Outcomes: does(contract.Benign)}, []string{"inputMetadata.destination", "inputMetadata.Destination"}},
		{`{"inputMetadata":{"destination":"user","sensitivity":"nope","outcomes":"benign"}}`,
			contract.Contract{Destinations: to(contract.User), Outcomes: does(contract.Benign)}, []string{"inputMetadata.sensitivity"}},

		// returnMetadata as a whole.
		{`{"returnMetadata":"internal"}`, contract.Contract{Sources: from(label.UntrustedPublic), Returns: sensitive(label.Unspecified)}, []string{"returnMetadata"}},
		{`{"returnMetadata":{"source":"system","sensitivity":"none"}}`, contract.Contract{Sources: from(label.System), Returns: sensitive()}, nil},
		{`{"returnMetadata":{"sensitivity":"pii"}}`, contract.Contract{Returns: sensitive(label.PII)}, []string{"returnMetadata.source"}},
		{`{"returnMetadata":{"source":"user"}}`, contract.Contract{Sources: from(label.UserSource)}, []string{"returnMetadata.sensitivity"}},
		{`{"returnMetadata":{"source":"system","sensitivity":"none","destination":"user"}}`,
			contract.Contract{Sources: from(label.System), Returns: sensitive()}, []string{"returnMetadata.destination"}},
	} {
		c, defects := annotation.ReadTool([]byte(`{"name":"t","annotations":` + test.annotations + `}`))
		if diff := cmp.Diff(test.want, c); diff != "" {
			t.Errorf("%.120s: %s", test.annotations, diff)
		}
		var got []string
		for _, where := range wheres(defects) {
			got = append(got, strings.TrimPrefix(where, "annotations."))
		}
		if diff := cmp.Diff(test.defects, got); diff != "" {
			t.Errorf("%.120s: defects: %s", test.annotations, diff)
		}
	}
}

// Every enumeration, one member at a time: scalar, array, and texts that are none of its values.
func TestReadEnums(t *testing.T) {
	input := func(value string) contract.Contract {
		c, _ := annotation.ReadTool([]byte(`{"annotations":{"inputMetadata":{"destination":` + value + `,"outcomes":` + value + `}}}`))
		return c
	}
	output := func(value string) contract.Contract {
		c, _ := annotation.ReadTool([]byte(`{"annotations":{"returnMetadata":{"source":` + value + `}}}`))
		return c
	}
	// A value that cannot be read counts as the worst, beside those that can.
	badDest, badOutcome, badSource := to(contract.Public), does(contract.Irreversible), from(label.UntrustedPublic)
	for _, test := range []struct {
		value   string
		dest    dests
		outcome outcomes
		source  sources
	}{
		{`"ephemeral"`, to(contract.Ephemeral), badOutcome, badSource},
		{`"system"`, to(contract.System), badOutcome, from(label.System)},
		{`"user"`, to(contract.User), badOutcome, from(label.UserSource)},
		{`"internal"`, to(contract.Internal), badOutcome, from(label.Internal)},
		{`"public"`, to(contract.Public), badOutcome, badSource},
		{`"benign"`, badDest, does(contract.Benign), badSource},
		{`"consequential"`, badDest, does(contract.Consequential), badSource},
		{`"irreversible"`, badDest, does(contract.Irreversible), badSource},
		{`"untrustedPublic"`, badDest, badOutcome, from(label.UntrustedPublic)},
		{`"trustedPublic"`, badDest, badOutcome, from(label.TrustedPublic)},
		{`["system"]`, to(contract.System), badOutcome, from(label.System)},
		{`["user","system","user"]`, to(contract.System, contract.User), badOutcome, from(label.System, label.UserSource)},
		{`["benign","irreversible"]`, badDest, does(contract.Benign, contract.Irreversible), badSource},
		{`["user","benign"]`, to(contract.User, contract.Public), does(contract.Benign, contract.Irreversible), from(label.UserSource, label.UntrustedPublic)},
		{`["user",1]`, to(contract.User, contract.Public), badOutcome, from(label.UserSource, label.UntrustedPublic)},
		{`["user",null]`, to(contract.User, contract.Public), badOutcome, from(label.UserSource, label.UntrustedPublic)},
		{`["user",["system"]]`, to(contract.User, contract.Public), badOutcome, from(label.UserSource, label.UntrustedPublic)},
		{`"u\u0073er"`, to(contract.User), badOutcome, from(label.UserSource)},
		{`"User"`, badDest, badOutcome, badSource},
		{`"user "`, badDest, badOutcome, badSource},
		{`""`, badDest, badOutcome, badSource},
		{`"none"`, badDest, badOutcome, badSource},
		{`[]`, badDest, badOutcome, badSource},
		{`null`, dests{}, outcomes{}, sources{}},
		{`0`, badDest, badOutcome, badSource},
		{`true`, badDest, badOutcome, badSource},
		{`{"user":true}`, badDest, badOutcome, badSource},
		{`[` + strings.Repeat(`"user",`, 63) + `"user"]`, to(contract.User), badOutcome, from(label.UserSource)},
		{`[` + strings.Repeat(`"user",`, 64) + `"user"]`, badDest, badOutcome, badSource},
	} {
		want := contract.Contract{Destinations: test.dest, Outcomes: test.outcome}
		if diff := cmp.Diff(want, input(test.value)); diff != "" {
			t.Errorf("input %.60s: %s", test.value, diff)
		}
		if diff := cmp.Diff(contract.Contract{Sources: test.source}, output(test.value)); diff != "" {
			t.Errorf("return %.60s: %s", test.value, diff)
		}
	}
}

func TestReadDataClass(t *testing.T) {
	scope := strings.Repeat("s", 257)
	for _, test := range []struct {
		value  string
		want   classes
		defect string // the first, without "annotations.returnMetadata."
	}{
		{`"none"`, sensitive(), ""},
		{`["none"]`, sensitive(), ""},
		{`"user"`, sensitive(label.User), ""},
		{`"pii"`, sensitive(label.PII), ""},
		{`"financial"`, sensitive(label.Financial), ""},
		{`"credentials"`, sensitive(label.Credentials), ""},
		{`["pii","user"]`, sensitive(label.PII, label.User), ""},
		{`["none","pii"]`, sensitive(label.PII), ""},
		{`{"regulated":{"scopes":["GDPR"]}}`, sensitive("regulated:GDPR"), ""},
		{`{"regulated":{"scopes":["GDPR","HIPAA"]}}`, sensitive("regulated:GDPR", "regulated:HIPAA"), ""},
		{`{"regulated":{"scopes":[]}}`, sensitive(label.Regulated), ""},
		{`{"regulated":{"scopes":[""]}}`, sensitive(label.Regulated), ""},
		{`["pii",{"regulated":{"scopes":["in-house"]}}]`, sensitive(label.PII, "regulated:in-house"), ""},
		{`[{"regulated":{"scopes":["A"]}},{"regulated":{"scopes":["B"]}}]`, sensitive("regulated:A", "regulated:B"), ""},
		{`{"regulated":{"scopes":["A"]},"x":1}`, sensitive("regulated:A"), "sensitivity.x: is not a known member"},
		{`{"regulated":{"scopes":["A"],"x":1}}`, sensitive("regulated:A"), "sensitivity.regulated.x: is not a known member"},
		{`{"regulated":{"scopes":["` + scope[1:] + `"]}}`, sensitive(label.RegulatedBy(scope[1:])), ""},
		{`{"regulated":{"scopes":["` + scope + `"]}}`, sensitive(label.Unspecified), "sensitivity.regulated.scopes[0]: is longer than 256 bytes"},
		{`{"regulated":{"scopes":[` + repeat(65, `"%d"`) + `]}}`, sensitive(label.Unspecified), "sensitivity.regulated.scopes: has more than 64 elements"},
		{`[` + strings.Repeat(`"pii",`, 64) + `"pii"]`, sensitive(label.Unspecified), "sensitivity: has more than 64 elements"},
		{`{"regulated":{"scopes":"GDPR"}}`, sensitive(label.Unspecified), "sensitivity.regulated.scopes: is a string, not an array"},
		{`{"regulated":{"scopes":["A",1]}}`, sensitive(label.Unspecified), "sensitivity.regulated.scopes[1]: is a number, not a string"},
		{`{"regulated":{}}`, sensitive(label.Unspecified), "sensitivity.regulated.scopes: is missing"},
		{`{"regulated":[]}`, sensitive(label.Unspecified), "sensitivity.regulated: is an array, not an object"},
		{`{}`, sensitive(label.Unspecified), "sensitivity.regulated: is missing"},
		{`{"Regulated":{"scopes":[]}}`, sensitive(label.Unspecified), "sensitivity.regulated: is missing"},
		{`["pii",{"regulated":{"scopes":[0]}}]`, sensitive(label.PII, label.Unspecified), "sensitivity[1].regulated.scopes[0]: is a number, not a string"},
		{`"regulated"`, sensitive(label.Unspecified), `sensitivity: is "regulated", not one of credentials, financial, none, pii, user`},
		{`"unspecified"`, sensitive(label.Unspecified), `sensitivity: is "unspecified", not one of credentials, financial, none, pii, user`},
		{`"regulated:GDPR"`, sensitive(label.Unspecified), `sensitivity: is "regulated:GDPR", not one of credentials, financial, none, pii, user`},
		{`"PII"`, sensitive(label.Unspecified), `sensitivity: is "PII", not one of credentials, financial, none, pii, user`},
		{`["pii","high"]`, sensitive(label.PII, label.Unspecified), `sensitivity[1]: is "high", not one of credentials, financial, none, pii, user`},
		{`[["pii"]]`, sensitive(label.Unspecified), "sensitivity[0]: is an array, not a string or an object"},
		{`[]`, sensitive(label.Unspecified), "sensitivity: is an empty array"},
		{`null`, classes{}, "sensitivity: is null, not a value"},
		{`false`, sensitive(label.Unspecified), "sensitivity: is a boolean, not a string or an object"},
	} {
		doc := `{"annotations":{"returnMetadata":{"source":"system","sensitivity":` + test.value + `}}}`
		c, defects := annotation.ReadTool([]byte(doc))
		if diff := cmp.Diff(contract.Contract{Sources: from(label.System), Returns: test.want}, c); diff != "" {
			t.Errorf("%.80s: %s", test.value, diff)
		}
		got := ""
		if len(defects) > 0 {
			got = strings.TrimPrefix(defects[0].Where, "annotations.returnMetadata.") + ": " + defects[0].Reason
		}
		if got != test.defect {
			t.Errorf("%.80s: defect %q, want %q", test.value, got, test.defect)
		}
	}
}

func TestReadResolved(t *testing.T) {
	readOnly := contract.Contract{ReadOnly: contract.Yes}
	for _, test := range []struct {
		result  string
		want    contract.Contract
		defects []string
	}{
		{`{"tool":{"name":"t","annotations":{"readOnlyHint":true}}}`, readOnly, nil},
		{`{"tool":{"name":"t"}}`, contract.Contract{}, nil},
		{`{"resultType":"complete","name":"t","annotations":{"readOnlyHint":true},"_meta":{"x":1}}`, readOnly, nil},
		{`{"tool":{"annotations":{"readOnlyHint":true}},"annotations":{"readOnlyHint":true}}`, readOnly, []string{"document has both tool and annotations"}},
		{`{"tool":{"annotations":{"readOnlyHint":true}},"annotations":{"readOnlyHint":false}}`,
			contract.Contract{ReadOnly: contract.No}, []string{"document has both tool and annotations"}},
		{`{"tool":{"annotations":{"readOnlyHint":1}}}`, contract.Contract{}, []string{"tool.annotations.readOnlyHint is a number, not a boolean"}},
		{`{"tool":[]}`, contract.Contract{}, []string{"tool is an array, not an object"}},
		{`{"annotations":true}`, contract.Contract{}, []string{"annotations is a boolean, not an object"}},
		{`{"resultType":"complete"}`, contract.Contract{}, []string{"document has neither tool nor annotations"}},
		{`[]`, contract.Contract{}, []string{"document is an array, not an object"}},
		{``, contract.Contract{}, []string{"document is no JSON value, not an object"}},
	} {
		c, defects := annotation.ReadResolved([]byte(test.result))
		if diff := cmp.Diff(test.want, c); diff != "" {
			t.Errorf("%s: %s", test.result, diff)
		}
		if diff := cmp.Diff(test.defects, lines(defects)); diff != "" {
			t.Errorf("%s: %s", test.result, diff)
		}
	}
}

func TestReadResult(t *testing.T) {
	for _, test := range []struct {
		annotations string
		label       label.Label
		stated      contract.Contract
		defects     []string // without the leading "_meta.annotations."
	}{
		{`{}`, label.Label{}, contract.Contract{}, nil},
		{`{"openWorldHint":true}`, label.Label{Untrusted: true}, contract.Contract{OpenWorld: contract.Yes}, nil},
		{`{"openWorldHint":false}`, label.Label{}, contract.Contract{OpenWorld: contract.No}, nil},
		{`{"openWorldHint":"true"}`, label.Label{Untrusted: true}, contract.Contract{OpenWorld: contract.Yes}, []string{"openWorldHint"}},
		{`{"maliciousActivityHint":true}`, label.Label{Malicious: true}, contract.Contract{Malicious: contract.Yes}, nil},
		{`{"maliciousActivityHint":false}`, label.Label{}, contract.Contract{Malicious: contract.No}, nil},
		{`{"attribution":["a"]}`, label.Label{Attribution: strs("a")}, contract.Contract{Attribution: strs("a")}, nil},
		{`{"returnMetadata":{"source":"system","sensitivity":"none"}}`, label.Label{Sources: label.SetOf(label.System)},
			contract.Contract{Sources: from(label.System), Returns: sensitive()}, nil},
		{`{"returnMetadata":{"source":"untrustedPublic","sensitivity":"user"}}`,
			label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic), Sensitivity: label.SetOf(label.User)},
			contract.Contract{Sources: from(label.UntrustedPublic), Returns: sensitive(label.User)}, nil},
		{`{"returnMetadata":{"source":"trustedPublic","sensitivity":["pii"]}}`,
			label.Label{Private: true, Sources: label.SetOf(label.TrustedPublic), Sensitivity: label.SetOf(label.PII)},
			contract.Contract{Sources: from(label.TrustedPublic), Returns: sensitive(label.PII)}, nil},
		{`{"returnMetadata":{"source":["internal","system"],"sensitivity":"none"}}`,
			label.Label{Private: true, Sources: label.SetOf(label.Internal, label.System)},
			contract.Contract{Sources: from(label.Internal, label.System), Returns: sensitive()}, nil},
		{`{"sensitivity":"financial"}`, label.Label{Private: true, Sensitivity: label.SetOf(label.Financial)},
			contract.Contract{Returns: sensitive(label.Financial)}, nil},
		{`{"source":"untrustedPublic"}`, label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic)},
			contract.Contract{Sources: from(label.UntrustedPublic)}, nil},
		{`{"sensitivity":"none","returnMetadata":{"source":"system","sensitivity":"pii"}}`,
			label.Label{Private: true, Sources: label.SetOf(label.System), Sensitivity: label.SetOf(label.PII)},
			contract.Contract{Sources: from(label.System), Returns: sensitive(label.PII)}, nil},
		{`{"sensitivity":"high"}`, label.Label{Private: true, Sensitivity: label.SetOf(label.Unspecified)}, contract.Contract{Returns: sensitive(label.Unspecified)}, []string{"sensitivity"}},
		{`{"inputMetadata":{"destination":"public","sensitivity":"pii","outcomes":"irreversible"}}`, label.Label{},
			contract.Contract{Destinations: to(contract.Public), Accepts: sensitive(label.PII), Outcomes: does(contract.Irreversible)}, nil},
		{`{"readOnlyHint":7,"vendorHint":"?"}`, label.Label{}, contract.Contract{}, nil},
	} {
		got, defects := annotation.ReadResult([]byte(`{"content":[],"_meta":{"annotations":` + test.annotations + `}}`))
		if diff := cmp.Diff(annotation.Claim{Label: test.label, Stated: test.stated}, got); diff != "" {
			t.Errorf("%s: %s", test.annotations, diff)
		}
		var short []string
		for _, where := range wheres(defects) {
			short = append(short, strings.TrimPrefix(where, "_meta.annotations."))
		}
		if diff := cmp.Diff(test.defects, short); diff != "" {
			t.Errorf("%s: defects: %s", test.annotations, diff)
		}
	}
}

func TestReadRequest(t *testing.T) {
	for _, test := range []struct {
		params  string
		want    label.Label
		defects []string
	}{
		{`{}`, label.Label{}, nil},
		{`{"_meta":{}}`, label.Label{}, nil},
		{`{"_meta":{"annotations":{"openWorldHint":true,"attribution":["a"]}}}`, label.Label{Untrusted: true, Attribution: strs("a")}, nil},
		{`{"_meta":{"annotations":{"openWorldHint":false}}}`, label.Label{}, nil},
		{`{"_meta":{"annotations":{"openWorldHint":0}}}`, label.Label{Untrusted: true}, []string{"_meta.annotations.openWorldHint is a number, not a boolean"}},
		{`{"_meta":{"annotations":{"maliciousActivityHint":1}}}`, label.Label{}, nil},
		{`{"_meta":{"annotations":null}}`, label.Label{}, []string{"_meta.annotations is null, not an object"}},
		{`{"_meta":3}`, label.Label{}, []string{"_meta is a number, not an object"}},
		{`null`, label.Label{}, []string{"document is null, not an object"}},
	} {
		got, defects := annotation.ReadRequest([]byte(test.params))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.params, diff)
		}
		if diff := cmp.Diff(test.defects, lines(defects)); diff != "" {
			t.Errorf("%s: %s", test.params, diff)
		}
	}
}

// Defects quote hostile text: they must be few, short and printable.
func TestDefectsAreBounded(t *testing.T) {
	junk := strings.Repeat(`\u001b[31m`, 1000)
	doc := `{"annotations":{"inputMetadata":{"destination":"` + junk + `","` + junk + `":1,` + repeat(1000, `"m%d":0`) + `}}}`
	_, defects := annotation.ReadTool([]byte(doc))
	if len(defects) != 32 {
		t.Errorf("%d defects", len(defects))
	}
	for _, d := range defects {
		if len(d.String()) > 800 || strings.ContainsRune(d.String(), 0x1b) {
			t.Errorf("defect %.900q", d)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := annotation.Check([]byte(`{"annotations":{}}`)); err != nil {
		t.Error(err)
	}
	if err := annotation.Check([]byte(`{"annotations":{},"\u0061nnotations":{}}`)); err == nil {
		t.Error("a duplicate name passed")
	}
}
