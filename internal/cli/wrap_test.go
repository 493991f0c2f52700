package cli

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"mcp-server-git", "mcp-server-git"},
		{"./bin/server.sh --port 80", "server"},
		{"npx -y @modelcontextprotocol/server-filesystem /tmp", "server-filesystem"},
		{"npx -y @modelcontextprotocol/server-memory@2026.1.14", "server-memory"},
		{"uvx mcp-server-fetch", "mcp-server-fetch"},
		{"uv run server.py", "server"},
		{"/usr/bin/node dist/index.js", "index"},
		{"node /opt/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js /tmp", "server-filesystem"},
		{"docker run -i --rm mcp/everything", "everything"},
		{"npx", "npx"},
		{"ünï", "n"},
		{"!!!", "server"},
		{"https://mcp.example/mcp", "mcp-example"},
		{"http://[::1]:8080/mcp", "1"},
		{"http://127.0.0.1:8080/mcp", "127-0-0-1"},
		{strings.Repeat("a", 100), strings.Repeat("a", 64)},
	} {
		if got := nameOf(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.command, got, c.want)
		}
	}
}
