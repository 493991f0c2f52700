package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/upstream"
)

// TestVia tells how servers are reached, without the parts that may be secrets.
func TestVia(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, url, want string }{
		{"npx -y @example/mail --token secret", "", "npx @example/mail"},
		{"docker run -i -e TOKEN=secret ghcr.io/example/mail:1.2", "", "docker ghcr.io/example/mail"},
		{"python3 server.py --key secret", "", "python3 server.py"},
		{"uv run " + filepath.Join(dir, "server.py"), "", "uv " + filepath.Join(dir, "server.py")},
		{"sh -c secret", "", "sh"},
		{"postgres-mcp postgres://u:secret@db/x " + dir, "", "postgres-mcp"},
		{"", "https://u:secret@mcp.example:8443/secret/mcp?key=secret", "https://mcp.example:8443"},
		{"", "", ""},
	} {
		if got := via(&upstream.Spec{Command: strings.Fields(c.command), Dir: dir, URL: c.url}); got != c.want {
			t.Errorf("%s%s: %q, want %q", c.command, c.url, got, c.want)
		}
	}
}
