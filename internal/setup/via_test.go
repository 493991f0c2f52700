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
	for _, name := range []string{"server.py", "server.js", "README.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const hidden = ", with options that are not shown"
	if got := via(&upstream.Spec{Command: []string{"uvx", "mail @ git+https://secret.example"}}); got != "uvx" {
		t.Errorf("a package from elsewhere: %q", got)
	}
	for _, c := range []struct{ command, url, want string }{
		{"npx -y @example/mail --token secret", "", "npx @example/mail"},
		{"docker run -i --rm -e TOKEN ghcr.io/example/mail:1.2", "", "docker ghcr.io/example/mail"},
		{"docker run -i -e NODE_OPTIONS=--import=secret ghcr.io/example/mail:1.2", "", "docker" + hidden},
		{"docker run --entrypoint sh -v /secret:/app ghcr.io/example/mail", "", "docker" + hidden},
		{"docker run -e", "", "docker" + hidden},
		{"python3 server.py --key secret", "", "python3 server.py"},
		{"uv run " + filepath.Join(dir, "server.py"), "", "uv " + filepath.Join(dir, "server.py")},
		{"uv run secret server.py", "", "uv"},
		{"python3.12 -u -m mail_server --key secret", "", "python3.12 mail_server"},
		{"python3 -c secret server.py", "", "python3" + hidden},
		{"node server.js -e secret", "", "node server.js"},
		{"node -e secret server.js", "", "node" + hidden},
		{"node --import=data:secret server.js", "", "node" + hidden},
		{"env LD_PRELOAD=secret server.js", "", "env"},
		{"env A=secret npx @example/mail", "", "env @example/mail"},
		{"npx --registry=http://secret.example @example/mail", "", "npx" + hidden},
		{"npx -p @example/mail sh -c secret", "", "npx" + hidden},
		{"uvx --index-url http://secret.example mail", "", "uvx" + hidden},
		{"uvx mail[x]==1.2", "", "uvx mail"},
		{"npx @example/mail@^1.2", "", "npx @example/mail"},
		{"npx @example/mail@npm:secret", "", "npx"},
		{"npx @example/mail@.", "", "npx"},
		{"docker run -v /secret:/app ghcr.io/example/mail", "", "docker" + hidden},
		{"npx @example/mail@https://secret.example/x.tgz", "", "npx"},
		{"npx @example/mail@secret/mail", "", "npx"},
		{"npx github:example/mail", "", "npx"},
		{"npm exec @example/mail --registry=http://secret.example", "", "npm"},
		{"deno run -A npm:@example/mail@1", "", "deno @example/mail"},
		{"docker run localhost:5000/example/mail@sha256:00", "", "docker localhost:5000/example/mail"},
		{"deno run -A https://u:secret@mcp.example/mail.ts", "", "deno"},
		{"cmd /c secret server.py", "", "cmd"},
		{"sh -c secret", "", "sh" + hidden},
		{"sh -c secret|sh README.md", "", "sh" + hidden},
		{"sh server.py", "", "sh server.py"},
		{"postgres-mcp postgres://u:secret@db/x " + dir, "", "postgres-mcp"},
		{"", "https://u:secret@mcp.example:8443/secret/mcp?key=secret", "https://mcp.example:8443"},
		{"", "", ""},
	} {
		if got := via(&upstream.Spec{Command: strings.Fields(c.command), Dir: dir, URL: c.url}); got != c.want {
			t.Errorf("%s%s: %q, want %q", c.command, c.url, got, c.want)
		}
	}
}
