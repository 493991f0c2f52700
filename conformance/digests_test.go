package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/weir-mcp/weir/conformance"
)

// The digest of a vector is that of its canonical form.
func TestDigests(t *testing.T) {
	all, err := conformance.Digests()
	if err != nil || len(all) < 50 {
		t.Fatalf("%d digests, %v", len(all), err)
	}
	for _, v := range all {
		if v.Digest == "" {
			continue
		}
		canonical, err := hex.DecodeString(v.Canonical)
		if sum := sha256.Sum256(canonical); err != nil || v.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %.100s: the vector contradicts itself", v.Source, v.Record)
		}
	}
}
