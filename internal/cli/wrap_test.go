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

func TestBaseEnv(t *testing.T) {
	env := Env{Environ: []string{"PATH=/bin", "HOME=/h", "TOKEN=x", "LC_ALL=C", "PATHS=x", "lc_x=x", "odd"}}
	if got := strings.Join(env.baseEnv(), " "); got != "PATH=/bin HOME=/h LC_ALL=C" {
		t.Errorf("got %q", got)
	}
}

func TestGetenv(t *testing.T) {
	env := Env{Environ: []string{"A=1", "A=2", "B=", "C"}}
	for _, c := range []struct {
		name, value string
		set         bool
	}{{"A", "2", true}, {"B", "", true}, {"C", "", false}, {"D", "", false}} {
		if value, set := env.getenv(c.name); value != c.value || set != c.set {
			t.Errorf("%s: got %q, %t", c.name, value, set)
		}
	}
}
