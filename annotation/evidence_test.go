package annotation_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
)

// What RFC 8949 has in its appendix A of JSON values, as text and as the hexadecimal digits of their encoding.
func TestDigestCBOR(t *testing.T) {
	for _, test := range []struct{ record, want string }{
		{`0`, "00"}, {`1`, "01"}, {`10`, "0a"}, {`23`, "17"}, {`24`, "1818"}, {`25`, "1819"}, {`100`, "1864"},
		{`1000`, "1903e8"}, {`1000000`, "1a000f4240"}, {`1000000000000`, "1b000000e8d4a51000"},
		{`18446744073709551615`, "1bffffffffffffffff"}, {`-18446744073709551616`, "3bffffffffffffffff"},
		{`-1`, "20"}, {`-10`, "29"}, {`-100`, "3863"}, {`-1000`, "3903e7"},
		{`0.0`, "f90000"}, {`-0.0`, "f98000"}, {`1.0`, "f93c00"}, {`1.1`, "fb3ff199999999999a"}, {`1.5`, "f93e00"},
		{`65504.0`, "f97bff"}, {`100000.0`, "fa47c35000"}, {`3.4028234663852886e+38`, "fa7f7fffff"},
		{`1.0e+300`, "fb7e37e43c8800759c"}, {`5.960464477539063e-8`, "f90001"}, {`0.00006103515625`, "f90400"},
		{`-4.0`, "f9c400"}, {`-4.1`, "fbc010666666666666"},
		{`false`, "f4"}, {`true`, "f5"}, {`null`, "f6"},
		{`""`, "60"}, {`"a"`, "6161"}, {`"IETF"`, "6449455446"}, {`"\"\\"`, "62225c"}, {`"\u00fc"`, "62c3bc"},
		{`"\u6c34"`, "63e6b0b4"}, {`"\ud800\udd51"`, "64f0908591"},
		{`[]`, "80"}, {`[1, 2, 3]`, "83010203"}, {`[1, [2, 3], [4, 5]]`, "8301820203820405"},
		{`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]`,
			"98190102030405060708090a0b0c0d0e0f101112131415161718181819"},
		{`{}`, "a0"}, {`{"a": 1, "b": [2, 3]}`, "a26161016162820203"}, {`["a", {"b": "c"}]`, "826161a161626163"},
		{`{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}`, "a56161614161626142616361436164614461656145"},
		{`{"b": 1, "aa": 3, "a": 2}`, "a361610261620162616103"}, // 4.2.1: keys by their encoded bytes
	} {
		checkDigest(t, annotation.CBOR, test.record, test.want)
	}
}

func TestDigestJCS(t *testing.T) {
	for _, test := range []struct{ record, want string }{
		{` { "b" : 1.0 , "a" : "\u20ac" } `, `{"a":"€","b":1}`},
		{`[333333333.33333329, 1E30, 4.50]`, `[333333333.3333333,1e+30,4.5]`},
	} {
		checkDigest(t, annotation.JCS, test.record, hex.EncodeToString([]byte(test.want)))
	}
}

func checkDigest(t *testing.T, canonicalization, record, canonical string) {
	t.Helper()
	text, err := hex.DecodeString(canonical)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	got, err := annotation.Digest(canonicalization, []byte(record))
	if want := "sha256:" + hex.EncodeToString(sum[:]); err != nil || got != want {
		t.Errorf("%s of %s is %s, %v, want %s", canonicalization, record, got, err, want)
	}
}

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
