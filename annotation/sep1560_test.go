package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
)

func TestSEP1560(t *testing.T) {
	yes, no := contract.Contract{Output: contract.Output{Secret: contract.Yes}}, contract.Contract{Output: contract.Output{Secret: contract.No}}
	checkTools(t, []claims[contract.Contract]{
		{`{"annotations":{"secretHint":true}}`, yes, nil},
		{`{"annotations":{"secretHint":false}}`, no, nil},
		{`{"annotations":{"secrethint":true}}`, contract.Contract{}, nil},
		{`{"annotations":{"secretHint":1}}`, yes, []string{`annotations.secretHint is a number, not a boolean`}},
	})
	checkWritten(t, writer(t, "sep-1560").WriteTool, []written[contract.Contract]{
		{`{"x":1}`, yes, `{"x":1,"annotations":{"secretHint":true}}`},
		{`{"annotations":{"secretHint": true}}`, no, `{"annotations":{"secretHint": false}}`},
		{`{"annotations":{"secretHint":1}}`, contract.Contract{}, `{"annotations":{"secretHint":1}}`},
	})
}
