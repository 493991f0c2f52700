package annotation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func seed(f *testing.F, docs ...string) {
	files, err := filepath.Glob(filepath.Join("testdata", "sep-1913", "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	for _, doc := range append(docs, ``, `{`, `{"annotations":`, `{"annotations":{"readOnlyHint":tru}}`, `{"_meta":{"annotations":[}}`) {
		f.Add([]byte(doc))
	}
}

// few fails if defects are out of bounds.
func few(t *testing.T, defects []annotation.Defect) {
	if len(defects) > 32 {
		t.Fatalf("%d defects", len(defects))
	}
	for _, d := range defects {
		if d.Reason == "" || len(d.String()) > 4096 {
			t.Fatalf("defect %q", d)
		}
	}
}

// A label that was read is written so that it reads the same, in the dialects that are written, and writing it again changes no
// byte.
func FuzzReadTool(f *testing.F) {
	seed(f, `{"_meta":{"io.modelcontextprotocol/action-metadata":{"outcome":"x","inputMetadata":{"destination":["external"],"sensitivity":"pii"}}}}`,
		`{"annotations":{"inputMetadata":{"Destination":"User","Sensitivity":"PII","Outcomes":["Benign"]},"secretHint":true,"sensitiveHint":"low"}}`,
		`{"annotations":{"readOnlyHint":true,"attribution":["a"],"inputMetadata":{"destination":["user"],"sensitivity":{"regulated":{"scopes":[""]}}}}}`)
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, defects := annotation.ReadTool(doc)
		few(t, defects)
		if annotation.Check(doc) != nil {
			annotation.WriteTool(doc, contract.Pessimistic()) //nolint:errcheck // only that it returns
			return
		}
		written, err := annotation.WriteTool(doc, c)
		if err == nil {
			if again, _ := annotation.ReadTool(written); again.String() != c.String() {
				t.Fatalf("%q was written back as %q, which reads as %v, not %v", doc, written, again, c)
			}
			if again, err := annotation.WriteTool(written, c); err != nil || !bytes.Equal(again, written) {
				t.Fatalf("%q was written again as %q, %v", written, again, err)
			}
		}
		effective := contract.Effective(c, contract.Untrusted)
		if written, err = annotation.WriteTool(doc, effective); err != nil {
			return
		}
		if err := annotation.Check(written); err != nil {
			t.Fatalf("%q: %v", written, err)
		}
		if again, _ := annotation.ReadTool(written); again.ReadOnly != effective.ReadOnly || again.OpenWorld != effective.OpenWorld {
			t.Fatalf("%q reads as %v", written, again)
		}
	})
}

func FuzzReadResolved(f *testing.F) {
	seed(f, `{"resultType":"complete","name":"t","annotations":{"readOnlyHint":false},"tool":{}}`)
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, defects := annotation.ReadResolved(doc)
		few(t, defects)
		if again, _ := annotation.ReadResolved(doc); !again.Equal(c) {
			t.Fatal("read twice, it differs")
		}
	})
}

// A result that got a label claims at least that and its earlier claims, and getting it again changes no byte.
func FuzzReadResult(f *testing.F) {
	seed(f, `{"_meta":{"annotations":{"openWorldHint":false,"returnMetadata":{"source":"system","sensitivity":["none","pii"]},"sensitivity":"user"}}}`)
	f.Add([]byte(`{"content":[{"_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":true}},"resource":{"_meta":1}}],"_meta":{"ifc":{"integrity":"untrusted"}}}`))
	f.Add([]byte(`{"_meta":{"com.github.ifc/labels":{"$":{"integrity":"trusted","confidentiality":["a"]},"$.b":{"confidentiality":["public"]}}}}`))
	more := label.Label{Untrusted: true, Attribution: label.SetOf("mcp://weir"), Sources: label.SetOf(label.Internal),
		Sensitivity: label.SetOf(label.Credentials, label.RegulatedBy("GDPR"))}.Normal()
	f.Fuzz(func(t *testing.T, doc []byte) {
		claim, defects := annotation.ReadResult(doc)
		few(t, defects)
		if !claim.Label.Equal(claim.Label.Normal()) {
			t.Fatalf("the label is not normal: %+v", claim.Label)
		}
		if annotation.Check(doc) == nil {
			outlined, _ := annotation.ReadResult(annotation.Outline(doc))
			if !outlined.Label.Equal(claim.Label) || len(outlined.Evidence) != len(claim.Evidence) {
				t.Fatalf("%q claims %+v, and its outline %+v", doc, claim, outlined)
			}
		}
		written, err := annotation.WriteResult(doc, more)
		if err != nil || annotation.Check(doc) != nil {
			return
		}
		if err := annotation.Check(written); err != nil {
			t.Fatalf("%q: %v", written, err)
		}
		if claim.Label.Attribution.Len() == 64 || claim.Label.Sensitivity.Len() >= 64 {
			return // as much as is read; see TestWriteResultIsReadPastTheLimits
		}
		if after, _ := annotation.ReadResult(written); !after.Label.Covers(label.Join(claim.Label, more)) {
			t.Fatalf("%q claims %+v, %q claims %+v", doc, claim.Label, written, after.Label)
		}
		if again, err := annotation.WriteResult(written, more); err != nil || !bytes.Equal(again, written) {
			t.Fatalf("%q becomes %q, %v", written, again, err)
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	seed(f, `{"_meta":{"annotations":{"openWorldHint":true,"attribution":["a","b"]}}}`)
	f.Fuzz(func(t *testing.T, doc []byte) {
		l, defects := annotation.ReadRequest(doc)
		few(t, defects)
		written, err := annotation.WriteRequest(doc, l, true)
		if annotation.Check(doc) == nil && err == nil && !bytes.Equal(written, doc) {
			t.Fatalf("%q was written back as %q", doc, written)
		}
	})
}

// result returns a tool result of about that size, with its annotations last: half of it is one text, the other half
// many small members.
func result(size int) []byte {
	var doc bytes.Buffer
	doc.WriteString(`{"content":[{"type":"text","text":"`)
	for doc.Len() < size/2 {
		doc.WriteString(`A line of text, with \"quotes\" and an umlaut ü.\n`)
	}
	doc.WriteString(`"}],"structuredContent":{"rows":[{"id":0}`)
	for i := 0; doc.Len() < size-100; i++ {
		fmt.Fprintf(&doc, `,{"id":%d,"name":"n%d","ok":true}`, i, i)
	}
	doc.WriteString(`]},"_meta":{"annotations":{"openWorldHint":true,"attribution":["mcp://files/a"]}}}`)
	return doc.Bytes()
}

func benchmark(b *testing.B, run func(b *testing.B, doc []byte)) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KiB", 1 << 10}, {"100KiB", 100 << 10}, {"10MiB", 10 << 20}} {
		doc := result(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				run(b, doc)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	benchmark(b, func(b *testing.B, doc []byte) {
		if err := annotation.Check(doc); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkReadResult(b *testing.B) {
	benchmark(b, func(b *testing.B, doc []byte) {
		if claim, _ := annotation.ReadResult(doc); !claim.Label.Untrusted {
			b.Fatal("not read")
		}
	})
}

// The guard reads by the outline.
func BenchmarkOutline(b *testing.B) {
	benchmark(b, func(b *testing.B, doc []byte) {
		if claim, _ := annotation.ReadResult(annotation.Outline(doc)); !claim.Label.Untrusted {
			b.Fatal("not read")
		}
	})
}

func BenchmarkWriteResult(b *testing.B) {
	l := label.Label{Untrusted: true, Attribution: label.SetOf("mcp://files/read"), Sources: label.SetOf(label.UntrustedPublic),
		Sensitivity: label.SetOf(label.PII)}
	benchmark(b, func(b *testing.B, doc []byte) {
		if _, err := annotation.WriteResult(doc, l); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkTool(b *testing.B) {
	tool, err := os.ReadFile(filepath.Join("testdata", "sep-1913", "send_email.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			annotation.ReadTool(tool)
		}
	})
	c, _ := annotation.ReadTool(tool)
	c = contract.Effective(c, contract.Untrusted)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := annotation.WriteTool(tool, c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
