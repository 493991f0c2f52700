package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustText holds what --trust-text takes for a file and what for a text.
func TestTrustText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wish.txt")
	if err := os.WriteFile(file, []byte("write to Ben"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := serveFlags{trust: []string{file, "and pay a/b", "Ada"}}
	if words, err := flags.words(); err != nil || words != "write to Ben\n\nand pay a/b\n\nAda" {
		t.Errorf("%q, %v", words, err)
	}
	flags.trust = []string{file + ".absent"}
	if words, err := flags.words(); err == nil || !strings.Contains(err.Error(), "--trust-text") {
		t.Errorf("an absent file is %q, %v", words, err)
	}
	flags.trust = nil
	if words, err := flags.words(); err != nil || words != "" {
		t.Errorf("nothing is %q, %v", words, err)
	}
}
