package overlay_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/overlay"
)

// set loads entries whose match is given, each with one tool named after the entry.
func set(t testing.TB, src string) *overlay.Set {
	t.Helper()
	s, err := overlay.Load("f", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func matching(t testing.TB, match string) *overlay.Set {
	t.Helper()
	return set(t, "version: 1\noverlays: [{name: a, match: ["+match+"], tools: {t: {contract: {readOnly: true}}}}]\n")
}

func TestPackages(t *testing.T) {
	for _, c := range []struct {
		command, match string
		want           bool
	}{
		{"npx -y @scope/server /home", "package: '@scope/server'", true},
		{"npx -y @scope/server@1.2.3 /home", "package: '@scope/server'", true},
		{"npx @scope/server@latest", "package: '@scope/server'", true},
		{"/usr/local/bin/npx --yes server", "package: server", true},
		{`C:\node\npx.cmd server`, "package: server", true},
		{"cmd /c npx -y server", "package: server", true},
		{"env A=b npx server", "package: server", true},
		{"npx -p @scope/server other", "package: '@scope/server'", true},
		{"npx --package=@scope/server other", "package: '@scope/server'", true},
		{"npx --registry https://r.example server", "package: server", true},
		{"npm exec --yes -- server --flag", "package: server", true},
		{"bunx server", "package: server", true},
		{"pnpm dlx server", "package: server", true},
		{"yarn dlx server", "package: server", true},
		{"deno run -A npm:@scope/server@1", "package: '@scope/server'", true},
		{"uvx mcp-server-git==1.0 --repository .", "package: mcp-server-git", true},
		{"uvx --from mcp-server-git other", "package: mcp-server-git", true},
		{"uvx --with x mcp_server.git", "package: mcp-server-git", true},
		{"uvx mcp-server-git[extra]@1.2", "package: mcp-server-git", true},
		{"uv tool run mcp-server-git", "package: mcp-server-git", true},
		{"pipx run mcp-server-git", "package: mcp-server-git", true},
		{"python -m mcp_server_git", "package: mcp-server-git", true},
		{"python3.12 -u -m mcp_server_git", "package: mcp-server-git", true},
		{"go run github.com/acme/server/cmd/server@v1.2.3", "package: github.com/acme/server/cmd/server", true},
		{"docker run -i --rm -e TOKEN ghcr.io/acme/server:1.2 stdio", "package: ghcr.io/acme/server", true},
		{"docker run -i --rm -v /a:/b mcp/server@sha256:00", "package: mcp/server", true},
		{"docker run localhost:5000/mcp/server", "package: localhost:5000/mcp/server", true},
		{"podman container run mcp/server", "package: mcp/server", true},
		{"node /app/node_modules/@scope/server/dist/index.js", "package: '@scope/server'", true},
		{"node --inspect /app/node_modules/server/dist/index.js", "package: server", true},
		{"/opt/github-mcp-server stdio", "command: github-mcp-server", true},
		{`C:\bin\Server.EXE`, "command: Server", true},

		{"npx evil @scope/server", "package: '@scope/server'", false},
		{"npx -c evil @scope/server", "package: '@scope/server'", false},
		{"evil @scope/server", "package: '@scope/server'", false},
		{"npx @scope/server-evil", "package: '@scope/server'", false},
		{"npm install server", "package: server", false},
		{"docker build mcp/server", "package: mcp/server", false},
		{"docker run -e mcp/server evil", "package: mcp/server", false},
		{"node /home/evil.js node_modules/server/x", "package: server", false},
		{"node /app/node_modules/server/../../evil.js", "package: server", false},
		{"python evil.py -m mcp_server_git", "package: mcp-server-git", false},
		{"/opt/github-mcp-server-evil", "command: github-mcp-server", false},
		{"npx", "package: npx", false},

		{"npx server@1.2.3", "{package: server, version: '>=1.2 <2'}", true},
		{"npx server@v1.2", "{package: server, version: '1.2.0'}", true},
		{"npx server", "{package: server, version: '>=1.2'}", true},
		{"npx server@latest", "{package: server, version: '>=1.2'}", true},
		{"npx server@1.1.9", "{package: server, version: '>=1.2'}", false},
		{"npx server@2.0.0", "{package: server, version: '>=1.2 <2'}", false},
		{"npx server@1.2.0-rc1", "{package: server, version: '>=1.2'}", false},
		{"npx server@^1.2", "{package: server, version: '>=1.2'}", false},
		{"docker run mcp/server:1.10", "{package: mcp/server, version: '>1.9'}", true},
		{"npx server@1.2", "{package: server, command: npx}", true},
		{"npx server@1.2", "{package: server, command: bunx}", false},
	} {
		match := c.match
		if !strings.HasPrefix(match, "{") {
			match = "{" + match + "}"
		}
		command := strings.Fields(c.command)
		if got := matching(t, match).For(overlay.Server{Name: "x", Command: command}) != nil; got != c.want {
			t.Errorf("%s, %s: %v", c.command, c.match, got)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"https://mcp.example.com/*", "https://mcp.example.com/sse", true},
		{"https://mcp.example.com/*", "https://MCP.example.com/v1/mcp?key=1", true},
		{"https://mcp.example.com/*", "https://mcp.example.com", true},
		{"https://mcp.example.com/mcp", "https://mcp.example.com/mcp/", true},
		{"https://mcp.example.com/mcp/", "https://mcp.example.com/mcp", true},
		{"https://*.example.com/*", "https://a.b.example.com/x", true},
		{"https://mcp.example.com/*/mcp", "https://mcp.example.com/tenant/mcp", true},
		{"https://mcp.example.com/a/*", "https://mcp.example.com/a/../b", false},
		{"https://*.example.com/*", "https://example.com/x", false},
		{"https://*.example.com/*", "https://evilexample.com/x", false},
		{"https://mcp.example.com/*", "https://mcp.example.com.evil.example/x", false},
		{"https://mcp.example.com/*", "https://mcp.example.com@evil.example/x", false},
		{"https://mcp.example.com/*", "https://mcp.example.com:8443/x", false},
		{"https://mcp.example.com/*", "http://mcp.example.com/x", false},
		{"https://mcp.example.com/*", "", false},
		{"https://mcp.example.com/*", "https://evil.example/https://mcp.example.com/x", false},
	} {
		if got := matching(t, "{url: '"+c.pattern+"'}").For(overlay.Server{Name: "x", URL: c.url}) != nil; got != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.url, got)
		}
	}
}

func TestServerNames(t *testing.T) {
	s := matching(t, "{server: 'fs*-b'}")
	for name, want := range map[string]bool{"fs-b": true, "fs-a-b": true, "fsb": false, "xfs-b": false, "fs-b-": false, "": false} {
		if got := s.For(overlay.Server{Name: name}) != nil; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// FuzzPackage reads any words as a command line: it never panics, and the package is one of the words or a part of one.
func FuzzPackage(f *testing.F) {
	f.Add("docker run -i --rm -e A=b mcp/server:1.2 stdio")
	f.Add("uvx --from a[b]==1 c")
	f.Add("cmd /c env A=b npx -p x@1")
	f.Fuzz(func(t *testing.T, line string) {
		if name := (overlay.Server{Command: strings.Fields(line)}).Package(); !strings.Contains(line, name) && !strings.Contains(strings.ReplaceAll(line, `\`, "/"), name) {
			t.Errorf("%q gives %q", line, name)
		}
	})
}
