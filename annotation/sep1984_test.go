package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
)

func TestSEP1984(t *testing.T) {
	const all = `{"annotations":{"aiProcessingHint":true,"slowExecutionHint":false,"resourceIntensiveHint":true,` +
		`"sensitiveDataHint":false,"privilegedAccessHint":true,"reversibleHint":false}}`
	c := contract.Contract{
		Output: contract.Output{Sensitive: contract.No},
		Operation: contract.Operation{AIProcessing: contract.Yes, Slow: contract.No, Costly: contract.Yes,
			Privileged: contract.Yes, Reversible: contract.No},
	}
	checkTools(t, []claims[contract.Contract]{
		{all, c, nil},
		{`{"annotations":{"reversibleHint":true}}`, contract.Contract{Operation: contract.Operation{Reversible: contract.Yes}}, nil},
		{`{"annotations":{"aiProcessingHint":"yes","slowExecutionHint":{},"reversibleHint":null}}`, contract.Contract{Operation: contract.Operation{AIProcessing: contract.Yes, Slow: contract.Yes}}, []string{
			`annotations.aiProcessingHint is a string, not a boolean`,
			`annotations.slowExecutionHint is an object, not a boolean`,
			`annotations.reversibleHint is null, not a boolean`}},
	})
	checkWritten(t, writer(t, "sep-1984").WriteTool, []written[contract.Contract]{
		{`{}`, c, all},
		{all, contract.Contract{}, all},
	})
}
