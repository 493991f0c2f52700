package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func TestSEP2061(t *testing.T) {
	send := contract.Contract{
		Destinations: to(contract.Public), Accepts: sensitive(label.PII, label.User), Outcomes: does(contract.Irreversible),
		Sources: from(label.System), Returns: sensitive(),
	}
	const pascal = `{"annotations":{"inputMetadata":{"Destination":"Public","Sensitivity":["PII","User"],"Outcomes":"Irreversible"},` +
		`"returnMetadata":{"Source":"System","Sensitivity":"None"}}}`
	const camel = `{"annotations":{"inputMetadata":{"destination":"public","sensitivity":["pii","user"],"outcomes":"irreversible"},` +
		`"returnMetadata":{"source":"system","sensitivity":"none"}}}`
	checkTools(t, []claims[contract.Contract]{
		{pascal, send, nil},
		{camel, send, nil},
		{`{"annotations":{"inputMetadata":{"Destination":"Public","Sensitivity":"Regulated","Outcomes":["Benign","Consequential"],"x":1}}}`,
			contract.Contract{Destinations: to(contract.Public), Accepts: sensitive(label.Regulated), Outcomes: does(contract.Benign, contract.Consequential)}, nil},
		{`{"annotations":{"inputMetadata":{"Destination":"public","Outcomes":[]},"returnMetadata":{"Source":["User",1]}}}`, contract.Contract{Destinations: to(contract.Public),
			Outcomes: does(contract.Irreversible), Sources: from(label.UserSource, label.UntrustedPublic)}, []string{
			`annotations.inputMetadata.Sensitivity is missing`,
			`annotations.inputMetadata.Destination is "public", not one of Ephemeral, Internal, Public, System, User`,
			`annotations.inputMetadata.Outcomes is an empty array`,
			`annotations.returnMetadata.Sensitivity is missing`,
			`annotations.returnMetadata.Source[1] is a number, not a string`}},
		{`{"annotations":{"returnMetadata":{"Source":"User","sensitivity":"pii"}}}`, contract.Contract{Returns: sensitive(label.PII)}, []string{
			`annotations.returnMetadata.source is missing`, `annotations.returnMetadata.Source is not a known member`}},
	})
	checkResults(t, []claims[label.Label]{
		{`{"_meta":{"annotations":{"returnMetadata":{"Source":"UntrustedPublic","Sensitivity":["PII"]}}}}`,
			label.Label{Sources: label.SetOf(label.UntrustedPublic), Sensitivity: label.SetOf(label.PII)}, nil},
	})
	checkWritten(t, writer(t, "sep-2061").WriteTool, []written[contract.Contract]{
		{`{}`, send, pascal},
		{pascal, send, pascal},
		{camel, send, pascal},
		{`{}`, contract.Contract{Sources: from(label.Internal), Returns: sensitive("regulated:GDPR", label.PII)},
			`{"annotations":{"returnMetadata":{"Source":"Internal","Sensitivity":["PII","Regulated"]}}}`},
		{`{}`, contract.Contract{Sources: from(label.Internal), Returns: sensitive(label.Unspecified)}, `{}`},
		{`{}`, contract.Contract{Sources: from("mars"), Returns: sensitive()}, `{}`},
	})
	checkWritten(t, writer(t, "sep-1913").WriteTool, []written[contract.Contract]{
		{pascal, send, camel},
		{`{"annotations":{"returnMetadata":{"Source":"User","x":1}}}`, contract.Contract{Sources: from(label.Internal)},
			`{"annotations":{"returnMetadata":{"x":1,"source":"internal"}}}`},
	})
}
