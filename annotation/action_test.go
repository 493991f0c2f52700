package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func TestActionMetadata(t *testing.T) {
	const key = `"io.modelcontextprotocol/action-metadata"`
	const where = `["io.modelcontextprotocol/action-metadata"]`
	const words = `{"inputMetadata":{"destination":"external","sensitivity":"sensitive"},` +
		`"returnMetadata":{"source":"first-party","sensitivity":"normal"},"outcome":"benign","requiresReview":true}`
	c := contract.Contract{RequiresReview: contract.Yes, Destinations: to(contract.Public), Accepts: sensitive(label.Unspecified),
		Outcomes: does(contract.Benign), Sources: from(label.Internal), Returns: sensitive()}
	checkTools(t, []claims[contract.Contract]{
		{`{"_meta":{` + key + `:` + words + `}}`, c, nil},
		{`{"annotations":{` + key + `:` + words + `}}`, c, nil},
		{`{"_meta":{` + key + `:{}}}`, contract.Contract{}, nil},
		{`{"_meta":{` + key + `:{"requiresReview":false}}}`, contract.Contract{RequiresReview: contract.No}, nil},
		{`{"_meta":{` + key + `:{"requiresReview":false}},"annotations":{` + key + `:{"requiresReview":true}}}`,
			contract.Contract{RequiresReview: contract.Yes}, nil},
		{`{"_meta":{` + key + `:{"inputMetadata":{"destination":["user","system"],"sensitivity":["pii","none","regulated"]}}}}`,
			contract.Contract{Destinations: to(contract.User, contract.System), Accepts: sensitive(label.PII, label.Regulated)}, nil},
		{`{"_meta":{` + key + `:{"inputMetadata":{"destination":"partner","sensitivity":"secret"},"returnMetadata":{"source":"web"},"outcome":"research"}}}`,
			contract.Contract{Destinations: to(contract.Public), Accepts: sensitive(label.Unspecified), Sources: from(label.UntrustedPublic),
				Outcomes: does(contract.Irreversible)}, nil},
		{`{"_meta":{` + key + `:{"inputMetadata":{"destination":1,"sensitivity":[]},"returnMetadata":[],"outcome":[null],"requiresReview":"yes"}}}`,
			contract.Contract{RequiresReview: contract.Yes, Destinations: to(contract.Public), Accepts: sensitive(label.Unspecified),
				Outcomes: does(contract.Irreversible), Sources: from(label.UntrustedPublic), Returns: sensitive(label.Unspecified)}, []string{
				`_meta` + where + `.returnMetadata is an array, not an object`,
				`_meta` + where + `.inputMetadata.destination is a number, not a string`,
				`_meta` + where + `.inputMetadata.sensitivity is an empty array`,
				`_meta` + where + `.outcome[0] is null, not a string`,
				`_meta` + where + `.requiresReview is a string, not a boolean`}},
		{`{"_meta":{` + key + `:{"outcome":""}}}`, contract.Contract{Outcomes: does(contract.Irreversible)}, nil},
		{`{"annotations":{` + key + `:7}}`, contract.Contract{Destinations: to(contract.Public), Outcomes: does(contract.Irreversible),
			Sources: from(label.UntrustedPublic), Returns: sensitive(label.Unspecified)}, []string{`annotations` + where + ` is a number, not an object`}},
		{`{"_meta":7}`, contract.Contract{}, []string{`_meta is a number, not an object`}},
	})
	checkWritten(t, writer(t, "action-metadata").WriteTool, []written[contract.Contract]{
		{`{}`, c, `{"_meta":{` + key + `:{"inputMetadata":{"destination":"public","sensitivity":"sensitive"},` +
			`"returnMetadata":{"source":"internal","sensitivity":"none"},"outcome":"benign","requiresReview":true}}}`},
		{`{"_meta":{` + key + `:` + words + `}}`, c, `{"_meta":{` + key + `:` + words + `}}`},
		{`{"annotations":{` + key + `:{"x":1}}}`, contract.Contract{RequiresReview: contract.Yes},
			`{"annotations":{` + key + `:{"x":1,"requiresReview":true}}}`},
		{`{"annotations":{` + key + `:{}},"_meta":{` + key + `:{}}}`, contract.Contract{RequiresReview: contract.No},
			`{"annotations":{` + key + `:{"requiresReview":false}},"_meta":{` + key + `:{"requiresReview":false}}}`},
		{`{}`, contract.Contract{Returns: sensitive("regulated:GDPR", label.PII)},
			`{"_meta":{` + key + `:{"returnMetadata":{"sensitivity":["pii","regulated"]}}}}`},
		{`{}`, contract.Contract{}, `{}`},
	})
}
