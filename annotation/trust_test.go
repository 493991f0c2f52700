package annotation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/label"
)

const trust = `"io.modelcontextprotocol/trust-annotations"`

func TestTrustAnnotations(t *testing.T) {
	vague := label.SetOf(label.Unspecified)
	const where = `_meta["io.modelcontextprotocol/trust-annotations"]`
	checkResults(t, []claims[label.Label]{
		{`{"_meta":{` + trust + `:{}}}`, label.Label{}, nil},
		{`{"_meta":{` + trust + `:{"sensitive":true}}}`, label.Label{Sensitivity: vague}, nil},
		{`{"_meta":{` + trust + `:{"untrusted":true,"x":1}}}`, label.Label{Untrusted: true}, nil},
		{`{"_meta":{` + trust + `:{"sensitive":false,"untrusted":false}}}`, label.Label{}, nil},
		{`{"_meta":{` + trust + `:[]}}`, label.Label{Untrusted: true, Sensitivity: vague}, []string{where + " is an array, not an object"}},
		{`{"_meta":{` + trust + `:{"sensitive":1,"untrusted":"x"}}}`, label.Label{Untrusted: true, Sensitivity: vague}, []string{
			where + ".untrusted is a string, not a boolean", where + ".sensitive is a number, not a boolean"}},

		// A block strengthens the claims of the result, and weakens nothing.
		{`{"_meta":{` + trust + `:{}},"content":[{"type":"text"},{"type":"text","_meta":{` + trust + `:{"sensitive":true}}}]}`,
			label.Label{Sensitivity: vague}, nil},
		{`{"content":[{"_meta":{` + trust + `:{"untrusted":false}}}],"_meta":{` + trust + `:{"untrusted":true}}}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"_meta":{` + trust + `:{"untrusted":true}}},{"_meta":{` + trust + `:{"sensitive":true}}}]}`,
			label.Label{Untrusted: true, Sensitivity: vague}, nil},
		{`{"content":[{"\u005fmeta":{"io.modelcontextprotocol\/trust-annotations":{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"\u005Fmeta":{` + trust + `:{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"_\u006deta":{` + trust + `:{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"_met\u0061":{` + trust + `:{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"text":"_ _m \\u005f \\","x":1,"_meta":{` + trust + `:{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"type":"resource","resource":{"uri":"x:y","_meta":{` + trust + `:{"untrusted":true}}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"contents":[{"uri":"x:y","_meta":{` + trust + `:{"untrusted":true}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"messages":[{"role":"user","content":{"type":"text","_meta":{` + trust + `:{"untrusted":true}}}}]}`, label.Label{Untrusted: true}, nil},
		{`{"messages":[{"role":"user","content":[{"resource":{"_meta":{` + trust + `:{"untrusted":true}}}}]}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[1,{"_meta":2},{"_meta":{` + trust + `:{"untrusted":3}}}]}`, label.Label{Untrusted: true}, []string{
			`content[1]._meta is a number, not an object`, `content[2].` + where + ".untrusted is a number, not a boolean"}},

		// A block is labelled in every dialect, beside its content or in its own annotations.
		{`{"content":[{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}]}`, label.Label{Untrusted: true, Private: true}, nil},
		{`{"content":[{"_meta":{"annotations":{"maliciousActivityHint":true}}}]}`, label.Label{Malicious: true}, nil},
		{`{"content":[{"annotations":{"priority":1,"openWorldHint":true}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"\u0061nnotations":{"openWorldHint":true}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"annotation\u0073":{"openWorldHint":true}}]}`, label.Label{Untrusted: true}, nil},
		{`{"content":[{"_meta":{"annotations":{"returnMetadata":{"Source":"Internal","Sensitivity":"PII"}}}}]}`,
			label.Label{Sources: label.SetOf(label.Internal), Sensitivity: label.SetOf(label.PII)}, nil},
		{`{"content":[{"type":"resource","resource":{"uri":"x:y","_meta":{"com.github.ifc/labels":{"$":{"integrity":"trusted","confidentiality":["a"]}}}}}]}`,
			label.Label{Readers: label.OnlyReaders("a")}, nil},
		{`{"content":[{"type":"resource_link","uri":"x:y","_meta":{"annotations":{"sensitivity":"credentials","source":"user"}}}]}`,
			label.Label{Sources: label.SetOf(label.UserSource), Sensitivity: label.SetOf(label.Credentials)}, nil},
		{`{"content":[{"annotations":{"audience":["user"]}}],"_meta":{"annotations":{"openWorldHint":false}}}`, label.Label{}, nil},

		// Places that are none.
		{`{"structuredContent":{"_meta":{` + trust + `:{"untrusted":true}}},` + trust + `:{"untrusted":true}}`, label.Label{}, nil},
		{`{"content":"_meta\" \u005f"}`, label.Label{}, nil},
	})
	checkWritten(t, writer(t, "trust-annotations").WriteResult, []written[label.Label]{
		{`{}`, label.Label{}, `{}`},
		{`{}`, label.Label{Untrusted: true, Private: true}, `{"_meta":{` + trust + `:{"untrusted":true,"sensitive":true}}}`},
		{`{}`, label.Label{Sensitivity: label.SetOf(label.User)}, `{}`},
		{`{"_meta":{` + trust + `:{"evidenceRef":{"type":"x"},"untrusted":false}}}`, label.Label{Untrusted: true},
			`{"_meta":{` + trust + `:{"evidenceRef":{"type":"x"},"untrusted":true}}}`},
		{`{"_meta":{` + trust + `:{"untrusted":true}}}`, label.Label{}, `{"_meta":{` + trust + `:{"untrusted":true}}}`},
	})
}

func TestEvidenceRefs(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	read := func(ref string) ([]annotation.Evidence, []string) {
		claim, defects := annotation.ReadResult([]byte(`{"_meta":{` + trust + `:{"evidenceRef":` + ref + `}}}`))
		var got []string
		for _, line := range lines(defects) {
			got = append(got, strings.TrimPrefix(line, `_meta["io.modelcontextprotocol/trust-annotations"].evidenceRef`))
		}
		return claim.Evidence, got
	}
	whole := annotation.Evidence{Type: "policy-decision", Digest: digest, Canonicalization: annotation.CBOR, Schema: "https://s.example/1", Ref: "audit://1"}
	short := annotation.Evidence{Type: "sequence", Digest: digest, Canonicalization: annotation.JCS}
	for _, test := range []struct {
		ref     string
		want    []annotation.Evidence
		defects []string
	}{
		{`{"type":"policy-decision","digest":"` + digest + `","canonicalization":"cbor/rfc8949","schema":"https://s.example/1","ref":"audit://1","x":1}`,
			[]annotation.Evidence{whole}, nil},
		{`{"type":"sequence","digest":"` + digest + `","canonicalization":"jcs/rfc8785"}`, []annotation.Evidence{short}, nil},
		{`{}`, nil, []string{".type is missing", ".digest is missing", ".canonicalization is missing"}},
		{`"x"`, nil, []string{" is a string, not an object"}},
		{`{"type":"","digest":"` + digest[:70] + `","canonicalization":"jcs"}`, nil, []string{".type is empty",
			".digest is not sha256: and 64 hexadecimal digits in lower case", `.canonicalization is "jcs", not one of cbor/rfc8949, jcs/rfc8785`}},
		{`{"type":1,"digest":"` + strings.ToUpper(digest) + `","canonicalization":"jcs/rfc8785","ref":false}`, nil, []string{
			".type is a number, not a string", ".digest does not start with sha256:", ".ref is a boolean, not a string"}},
		{`{"type":"x","digest":"sha256:` + strings.Repeat("0A", 32) + `","canonicalization":"jcs/rfc8785"}`, nil,
			[]string{".digest is not sha256: and 64 hexadecimal digits in lower case"}},
		{`{"type":"` + strings.Repeat("x", 257) + `","digest":"` + digest + `","canonicalization":"jcs/rfc8785","schema":"` + strings.Repeat("x", 2049) + `"}`, nil,
			[]string{".type is longer than 256 bytes", ".schema is longer than 2048 bytes"}},
	} {
		got, defects := read(test.ref)
		if diff := cmp.Diff(test.want, got) + cmp.Diff(test.defects, defects); diff != "" {
			t.Errorf("%.200s: %s", test.ref, diff)
		}
	}
	var blocks []string
	for i := range 40 {
		blocks = append(blocks, fmt.Sprintf(`{"_meta":{%s:{"evidenceRef":{"type":"%d","digest":"%s","canonicalization":"jcs/rfc8785"}}}}`, trust, i, digest))
	}
	claim, defects := annotation.ReadResult([]byte(`{"content":[` + strings.Join(blocks, ",") + `]}`))
	if len(claim.Evidence) != 32 || len(defects) != 8 || claim.Evidence[31].Type != "31" {
		t.Errorf("of 40 references %d are read, with defects %v", len(claim.Evidence), defects)
	}
}
