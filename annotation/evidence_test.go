package annotation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
)

// One record under both canonicalizations: case B3 of the worked cases that come with the draft of trust-annotations
// (modelcontextprotocol/experimental-ext-tool-annotations, specification/draft/conformance).
func TestEvidenceCheck(t *testing.T) {
	record := []byte(`{"resource_kind":"security_advisory_draft","class":"confidential","container_visibility":"public","origin":"open_world"}`)
	jcs := annotation.Evidence{Canonicalization: annotation.JCS, Digest: "sha256:c509d629b2ab94b573c44ac10acb4941ab3949ff3cf857983c643bb0a476cefb"}
	cbor := annotation.Evidence{Canonicalization: annotation.CBOR, Digest: "sha256:6a1836c14764e8326ba9eb8e7231b45b93580889732f08523db3fa11e5635ed1"}
	for _, e := range []annotation.Evidence{jcs, cbor} {
		if err := e.Check(record); err != nil {
			t.Errorf("%s: %v", e.Canonicalization, err)
		}
		if err := e.Check([]byte(strings.Replace(string(record), "draft", "final", 1))); !errors.Is(err, annotation.ErrDigest) {
			t.Errorf("%s: another record: %v", e.Canonicalization, err)
		}
		for _, bad := range []string{``, `{`, `{"a":1,"a":1}`, `1e400`, `[1] 2`, `"\ud800"`} {
			if err := e.Check([]byte(bad)); err == nil || errors.Is(err, annotation.ErrDigest) {
				t.Errorf("%s of %s: %v", e.Canonicalization, bad, err)
			}
		}
	}
	for _, bad := range []string{`18446744073709551616`, `-18446744073709551617`, strings.Repeat("9", 5000)} {
		if err := cbor.Check([]byte(bad)); err == nil || errors.Is(err, annotation.ErrDigest) || len(err.Error()) > 200 {
			t.Errorf("%.30s: %v", bad, err)
		}
	}
	jcs.Canonicalization = "jcs"
	if err := jcs.Check(record); err == nil || errors.Is(err, annotation.ErrDigest) {
		t.Errorf("an unknown canonicalization: %v", err)
	}
}

// A record means the same in any spelling of its JSON, and another value never does.
func FuzzDigest(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.5,-0,"\u0061"],"a":null}`))
	f.Add([]byte(`1e22`))
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, canonicalization := range []string{annotation.JCS, annotation.CBOR} {
			digest, err := annotation.Digest(canonicalization, record)
			if err != nil {
				continue
			}
			spaced := append(append([]byte(" \n"), record...), '\t')
			if again, err := annotation.Digest(canonicalization, spaced); err != nil || again != digest {
				t.Fatalf("%s of %q: %s, and with space %s, %v", canonicalization, record, digest, again, err)
			}
			if other, err := annotation.Digest(canonicalization, append(append([]byte("["), record...), ']')); err == nil && other == digest {
				t.Fatalf("%q and an array of it have one digest", record)
			}
		}
	})
}
