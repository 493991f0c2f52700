package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
)

func TestSEP1561(t *testing.T) {
	yes, no := contract.Contract{Output: contract.Output{Unsafe: contract.Yes}}, contract.Contract{Output: contract.Output{Unsafe: contract.No}}
	checkTools(t, []claims[contract.Contract]{
		{`{"annotations":{"unsafeOutputHint":true}}`, yes, nil},
		{`{"annotations":{"unsafeOutputHint":false}}`, no, nil},
		{`{"annotations":{"unsafeoutputhint":true}}`, contract.Contract{}, nil},
		{`{"annotations":{"unsafeOutputHint":1}}`, yes, []string{`annotations.unsafeOutputHint is a number, not a boolean`}},
	})
	checkWritten(t, writer(t, "sep-1561").WriteTool, []written[contract.Contract]{
		{`{"x":1}`, yes, `{"x":1,"annotations":{"unsafeOutputHint":true}}`},
		{`{"annotations":{"unsafeOutputHint": true}}`, no, `{"annotations":{"unsafeOutputHint": false}}`},
		{`{"annotations":{"unsafeOutputHint":1}}`, contract.Contract{}, `{"annotations":{"unsafeOutputHint":1}}`},
	})
}
