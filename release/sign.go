package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"aead.dev/minisign"
)

const sumsName = "SHA256SUMS"

// sign writes the checksums of all files, and their signature if there is a key.
func (r *release) sign(key string) error {
	var sums bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		fmt.Fprintf(&sums, "%s  %s\n", r.sums[name], name)
	}
	if err := os.WriteFile(filepath.Join(r.out, sumsName), sums.Bytes(), 0o644); err != nil {
		return err
	}
	if key == "" {
		return nil
	}
	private, err := minisign.PrivateKeyFromFile(os.Getenv("MINISIGN_PASSWORD"), key)
	if err != nil {
		return fmt.Errorf("reading the key: %w", err)
	}
	comment := fmt.Sprintf("weir %s timestamp:%d", r.version, r.time.Unix())
	signature := minisign.SignWithComments(private, sums.Bytes(), comment, "signature of the checksums of weir "+r.version)
	return os.WriteFile(filepath.Join(r.out, sumsName+".minisig"), signature, 0o644)
}
