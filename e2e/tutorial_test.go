package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/manual"
)

// npx runs a package of e2e/node in the place of one that npx would download.
const npx = `#!/bin/sh
[ "$1" = -y ] && shift
package=$1
shift
exec node "%s/node_modules/.bin/mcp-$(basename "$package")" "$@"
`

// person is Weir in a terminal at which a person says yes.
const person = `#!/bin/sh
[ "$1" = approve ] && shift && set -- approve --yes "$@" && export WEIR_SCRIPTED_APPROVAL=1
exec %q "$@"
`

// TestTutorial runs the examples of docs/tutorial.md with the program and the reference file server.
func TestTutorial(t *testing.T) {
	needEnabled(t)
	page, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npx"), fmt.Appendf(nil, npx, world.scripts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "weir"), fmt.Appendf(nil, person, world.weir), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	if err := manual.Run(ctx, string(page), dir, env); err != nil {
		t.Error(err)
	}
}
