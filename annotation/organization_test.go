package annotation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func TestOrganizationLabels(t *testing.T) {
	r := annotation.NewReader(annotation.Meanings{
		"com.example/label": {"public": nil, "confidential": {label.PII, label.Financial}, "key": {label.Credentials}},
		"com.example/hold":  {"true": {label.RegulatedBy("hold")}, "false": nil},
	})
	for _, test := range []struct {
		meta    string
		want    label.Set[label.Class]
		defects []string
	}{
		{`{}`, label.Set[label.Class]{}, nil},
		{`{"com.example/label":"public"}`, label.Set[label.Class]{}, nil},
		{`{"com.example/label":"confidential"}`, label.SetOf(label.PII, label.Financial), nil},
		{`{"annotations":{"com.example/label":"confidential"}}`, label.SetOf(label.PII, label.Financial), nil},
		{`{"com.example/label":["public","key"],"com.example/hold":true}`, label.SetOf(label.Credentials, "regulated:hold"), nil},
		{`{"com.example/hold":false}`, label.Set[label.Class]{}, nil},
		{`{"com.example/label":"unheard of"}`, label.SetOf(label.Unspecified), nil},
		{`{"com.example/other":"confidential"}`, label.Set[label.Class]{}, nil},
		{`{"com.example/label":{}}`, label.SetOf(label.Unspecified), []string{`_meta["com.example/label"] is an object, not a string or a boolean`}},
		{`{"com.example/label":[]}`, label.SetOf(label.Unspecified), []string{`_meta["com.example/label"] is an empty array`}},
	} {
		claim, defects := r.ReadResult([]byte(`{"_meta":` + test.meta + `}`))
		if diff := cmp.Diff(label.Label{Sensitivity: test.want}.Normal(), claim.Label) + cmp.Diff(test.defects, lines(defects)); diff != "" {
			t.Errorf("%s: %s", test.meta, diff)
		}
		if plain, defects := annotation.ReadResult([]byte(`{"_meta":` + test.meta + `}`)); !plain.Label.IsZero() || defects != nil {
			t.Errorf("%s: without meanings it is %+v, %v", test.meta, plain, defects)
		}
	}
	for _, test := range []struct {
		tool string
		want contract.Contract
	}{
		{`{"_meta":{"com.example/label":"public"}}`, contract.Contract{}},
		{`{"_meta":{"com.example/label":"key"}}`, contract.Contract{Output: contract.Output{Secret: contract.Yes}}},
		{`{"annotations":{"com.example/label":"confidential","returnMetadata":{"source":"system","sensitivity":"user"}}}`, contract.Contract{
			Sources: from(label.System), Returns: sensitive(label.User, label.PII, label.Financial), Output: contract.Output{Sensitive: contract.Yes}}},
	} {
		got, defects := r.ReadTool([]byte(test.tool))
		if diff := cmp.Diff(test.want, got); diff != "" || defects != nil {
			t.Errorf("%s: %s%v", test.tool, diff, defects)
		}
	}
}
