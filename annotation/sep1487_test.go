package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
)

func TestSEP1487(t *testing.T) {
	yes, no := contract.Contract{Trusted: contract.Yes}, contract.Contract{Trusted: contract.No}
	checkTools(t, []claims[contract.Contract]{
		{`{"annotations":{"trustedHint":true}}`, yes, nil},
		{`{"annotations":{"trustedHint":false}}`, no, nil},
		{`{"annotations":{"trustedhint":true}}`, contract.Contract{}, nil},
		{`{"annotations":{"trustedHint":1}}`, contract.Contract{}, []string{`annotations.trustedHint is a number, not a boolean`}},
	})
	checkWritten(t, writer(t, "sep-1487").WriteTool, []written[contract.Contract]{
		{`{"x":1}`, yes, `{"x":1,"annotations":{"trustedHint":true}}`},
		{`{"annotations":{"trustedHint": true}}`, no, `{"annotations":{"trustedHint": false}}`},
		{`{"annotations":{"trustedHint":1}}`, contract.Contract{}, `{"annotations":{"trustedHint":1}}`},
	})
}
