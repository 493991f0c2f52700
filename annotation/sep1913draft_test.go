package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func TestSEP1913Draft(t *testing.T) {
	checkTools(t, []claims[contract.Contract]{
		{`{"annotations":{"privateHint":true,"sensitiveHint":"high"}}`,
			contract.Contract{Output: contract.Output{Private: contract.Yes, Sensitive: contract.Yes}}, nil},
		{`{"annotations":{"sensitiveHint":"medium"}}`, contract.Contract{Output: contract.Output{Sensitive: contract.Yes}}, nil},
		{`{"annotations":{"privateHint":false,"sensitiveHint":"low"}}`,
			contract.Contract{Output: contract.Output{Private: contract.No, Sensitive: contract.No}}, nil},
		{`{"annotations":{"sensitiveHint":"low","sensitiveDataHint":true}}`, contract.Contract{Output: contract.Output{Sensitive: contract.Yes}}, nil},
		{`{"annotations":{"privateHint":"yes","sensitiveHint":"High"}}`, contract.Contract{Output: contract.Output{Private: contract.Yes, Sensitive: contract.Yes}}, []string{
			`annotations.privateHint is a string, not a boolean`,
			`annotations.sensitiveHint is "High", not one of high, low, medium`}},
		{`{"annotations":{"sensitiveHint":true}}`, contract.Contract{Output: contract.Output{Sensitive: contract.Yes}}, []string{`annotations.sensitiveHint is a boolean, not a string`}},
	})
	vague := label.SetOf(label.Unspecified)
	checkResults(t, []claims[label.Label]{
		{`{"_meta":{"annotations":{"privateHint":true,"openWorldHint":true}}}`, label.Label{Private: true, Untrusted: true}, nil},
		{`{"_meta":{"annotations":{"privateHint":false,"sensitiveHint":"low"}}}`, label.Label{}, nil},
		{`{"_meta":{"annotations":{"sensitiveHint":"medium"}}}`, label.Label{Sensitivity: vague}, nil},
		{`{"_meta":{"annotations":{"sensitiveHint":null}}}`, label.Label{}, []string{"_meta.annotations.sensitiveHint is null, not a string"}},
	})
	w := writer(t, "sep-1913-2025-11")
	checkWritten(t, w.WriteTool, []written[contract.Contract]{
		{`{}`, contract.Contract{Output: contract.Output{Private: contract.Yes, Sensitive: contract.Yes}},
			`{"annotations":{"privateHint":true,"sensitiveHint":"high"}}`},
		{`{"annotations":{"sensitiveHint":"medium"}}`, contract.Contract{Output: contract.Output{Sensitive: contract.Yes}},
			`{"annotations":{"sensitiveHint":"medium"}}`},
		{`{"annotations":{"sensitiveHint":1}}`, contract.Contract{Output: contract.Output{Sensitive: contract.No}},
			`{"annotations":{"sensitiveHint":"low"}}`},
	})
	checkWritten(t, w.WriteResult, []written[label.Label]{
		{`{}`, label.Label{Untrusted: true, Private: true}, `{"_meta":{"annotations":{"openWorldHint":true,"privateHint":true}}}`},
		{`{}`, label.Label{Sensitivity: label.SetOf(label.User)}, `{}`},
		{`{"_meta":{"annotations":{"sensitiveHint":"low"}}}`, label.Label{Sensitivity: label.SetOf(label.PII)},
			`{"_meta":{"annotations":{"sensitiveHint":"high","privateHint":true}}}`},
	})
}
