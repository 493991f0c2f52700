package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A place has one record, or does not answer.
type place string

func (place) Holds(e annotation.Evidence) bool {
	return strings.HasPrefix(e.Ref, "https://records.example/")
}

func (p place) Record(context.Context, annotation.Evidence) ([]byte, error) {
	if p == "" {
		return nil, errors.New("its place does not answer")
	}
	return []byte(p), nil
}

// A result of a server that is itself trusted, and says nothing of its data but where the evidence is, raises the
// session by the record, so that the next call is asked about; so does a record that cannot be had, and that is in
// the log. The agent and hosts get the label.
func TestVouchedResultsRaise(t *testing.T) {
	const private = `{"integrity":"untrusted","confidentiality":"private"}`
	digest, err := annotation.Digest(annotation.JCS, []byte(private))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, at string
		records  annotation.Records
		want     bool
		defects  int
	}{
		{"no records", "https://records.example/1", nil, false, 0},
		{"a place that nobody trusts", "https://other.example/1", place(private), false, 0},
		{"the record", "https://records.example/1", place(private), true, 0},
		{"another record", "https://records.example/1", place(`{"integrity":"trusted","confidentiality":"public"}`), true, 1},
		{"no answer", "https://records.example/1", place(""), true, 1},
	} {
		f := newFixture(t, func(o *guard.Options) { o.Words.Records = c.records })
		declared := readSalaries
		declared.Sources, declared.Returns = sendMail.Sources, sendMail.Returns
		o := answer(t, f.g, call("read", declared, `{"name":"read"}`), guard.Answer{Result: []byte(`{"content":[],"_meta":{"annotations":{"openWorldHint":false},` +
			`"io.modelcontextprotocol/trust-annotations":{"evidenceRef":{"type":"ifc.fides.v1","digest":"` + digest + `","canonicalization":"jcs/rfc8785","ref":"` + c.at + `"}}}}`)})
		if !o.Allowed() || o.Label.Private != c.want || strings.Contains(string(o.Answer.Result), `"sensitive":true`) != c.want {
			t.Errorf("%s: %v, %s", c.name, o.Label, o.Answer.Result)
		}
		defects := 0
		for _, e := range f.events.all {
			if e.Kind == record.Defect {
				defects++
			}
		}
		if defects != c.defects {
			t.Errorf("%s: %d defects", c.name, defects)
		}
		v := f.g.Before(t.Context(), call("send", sendMail, `{"name":"send","arguments":{"body":"x"}}`))
		if asked := v.Effect == policy.Ask; asked != c.want {
			t.Errorf("%s: the next call is %v", c.name, v)
		}
	}
}
