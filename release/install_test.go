package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

var dist = flag.String("dist", "", "a built release: try each way to install it that this machine has")

// released is the directory of a built release, and its version.
func released(t *testing.T) (dir, version string) {
	t.Helper()
	if *dist == "" {
		t.Skip("needs -dist")
	}
	dir, err := filepath.Abs(*dist)
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(dir, "npm", "weir-mcp-[0-9]*.tgz"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return dir, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(all[0]), "weir-mcp-"), ".tgz")
}

// command runs a program with a home of its own, and returns its standard output.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, output, stderr.String())
	}
	return string(output)
}

// works lists tools through an installed weir: it wraps one of the servers of its own demonstration.
func works(t *testing.T, version string, weir ...string) {
	t.Helper()
	server := append(append([]string(nil), weir...), "demo", "server", "files", "--data", t.TempDir())
	wraps(t, version, server, weir...)
}

// wraps is works with a server.
func wraps(t *testing.T, version string, server []string, weir ...string) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
	run := func(args ...string) string {
		all := append(append([]string(nil), weir...), args...)
		return command(t, dir, env, all[0], all[1:]...)
	}
	if out := run("version"); version != "" && !strings.HasPrefix(out, "weir v"+version+" ") {
		t.Errorf("version: %q", out)
	}
	all := append(append(append([]string(nil), weir...), "wrap", "--name", "files", "--trust", "known", "--"), server...)
	cmd := exec.CommandContext(t.Context(), all[0], all[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(stdout)
	for id, request := range []string{
		`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
		`"method":"tools/list"`,
	} {
		fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", id, request)
		var answer struct{ Result map[string]any }
		if err := answers.Decode(&answer); err != nil || answer.Result == nil {
			t.Fatalf("request %d: %v %v", id, answer, err)
		}
		if tools, ok := answer.Result["tools"].([]any); id == 1 && (!ok || len(tools) == 0) {
			t.Errorf("no tools: %v", answer.Result)
		}
		if id == 0 {
			fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("weir wrap ends with %v", err)
	}
}

// TestArchive unpacks the archive and compares it with the checksums.
func TestArchive(t *testing.T) {
	dir, version := released(t)
	command(t, dir, nil, "sha256sum", "--check", "--strict", "--quiet", sumsName)
	to := t.TempDir()
	command(t, to, nil, "tar", "xzf", filepath.Join(dir, fmt.Sprintf("weir_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)))
	works(t, version, filepath.Join(to, "weir"))
	page := command(t, to, nil, "gzip", "-dc", "share/man/man1/weir-wrap.1.gz")
	if !strings.Contains(page, "weir wrap") {
		t.Errorf("%s", page)
	}
}

// TestDeb installs the package with dpkg into a root of its own.
func TestDeb(t *testing.T) {
	dir, version := released(t)
	if _, err := exec.LookPath("dpkg"); err != nil || os.Getuid() != 0 {
		t.Skip("needs dpkg and root")
	}
	root := t.TempDir()
	for _, name := range []string{"var/lib/dpkg/updates", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deb := filepath.Join(dir, fmt.Sprintf("weir_%s_%s.deb", version, runtime.GOARCH))
	dpkg := func(args ...string) string {
		return command(t, root, nil, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--log=/dev/null"}, args...)...)
	}
	dpkg("--install", deb)
	works(t, version, filepath.Join(root, "usr/bin/weir"))
	if _, err := exec.LookPath("systemd-sysusers"); err == nil {
		users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
		if !strings.Contains(string(users), "\nweir:") && !strings.HasPrefix(string(users), "weir:") {
			t.Errorf("the package made no user: %q, %v", users, err)
		}
	}
	for _, name := range []string{"usr/lib/systemd/system/weir.service", "usr/share/man/man1/weir.1.gz"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	dpkg("--purge", "weir")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/weir")); err == nil {
		t.Error("the program outlives its package")
	}
}

// TestRPM installs the package with rpm into a root of its own. Its script is for a system with systemd.
func TestRPM(t *testing.T) {
	dir, version := released(t)
	if _, err := exec.LookPath("rpm"); err != nil || os.Getuid() != 0 {
		t.Skip("needs rpm and root")
	}
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	name := filepath.Join(dir, fmt.Sprintf("weir-%s-1.%s.rpm", version, arch))
	root := t.TempDir()
	rpm := func(args ...string) string {
		return command(t, root, nil, "rpm", append([]string{"--root", root}, args...)...)
	}
	rpm("--install", "--nodeps", "--noscripts", name)
	works(t, version, filepath.Join(root, "usr/bin/weir"))
	if files := rpm("--query", "--list", "weir"); !strings.Contains(files, "/usr/lib/systemd/system/weir.service\n") {
		t.Errorf("%s", files)
	}
	rpm("--erase", "--nodeps", "--noscripts", "weir")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/weir")); err == nil {
		t.Error("the program outlives its package")
	}
}

// TestImageRuns unpacks the image, and runs it as its user with nothing beside it.
func TestImageRuns(t *testing.T) {
	dir, version := released(t)
	if _, err := exec.LookPath("chroot"); err != nil || os.Getuid() != 0 {
		t.Skip("needs chroot and root")
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, m := range list.Manifests {
		if m.Platform.Architecture != runtime.GOARCH {
			continue
		}
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		files := filepath.Join(t.TempDir(), "files.tar")
		out, err := os.Create(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(crane.Export(img, out), out.Close()); err != nil {
			t.Fatal(err)
		}
		command(t, root, nil, "tar", "--same-owner", "-xpf", files)
	}
	for _, above := range []string{root, filepath.Dir(root), filepath.Dir(filepath.Dir(root))} { // a user without rights enters them
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const own = "/home/weir"
	wraps(t, version, []string{"/usr/bin/weir", "demo", "server", "files", "--data", "/tmp"},
		"env", "HOME="+own, "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "TMPDIR=", "chroot", "--userspec="+nobody, root, "/usr/bin/weir")
	if _, err := os.Stat(filepath.Join(root, own, ".local/state/weir/state.db")); err != nil {
		t.Errorf("the state is not in the home of the image: %v", err)
	}
}

// TestNPM installs from a registry on this machine, as npm install and npx do.
func TestNPM(t *testing.T) {
	dir, version := released(t)
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("needs npm")
	}
	registry := newRegistry(t, filepath.Join(dir, "npm"))
	home := t.TempDir()
	env := []string{
		"HOME=" + home, "npm_config_cache=" + filepath.Join(home, "cache"), "npm_config_registry=" + registry,
		"npm_config_userconfig=" + filepath.Join(home, "npmrc"), "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_ignore_scripts=true", "npm_config_update_notifier=false",
	}
	project := t.TempDir()
	command(t, project, env, npm, "install", "--no-save", "--prefix", project, "weir-mcp")
	works(t, version, filepath.Join(project, "node_modules/.bin/weir"))
	out := command(t, t.TempDir(), env, "npx", "--yes", "weir-mcp", "version")
	if !strings.HasPrefix(out, "weir v"+version+" ") {
		t.Errorf("npx weir-mcp version: %q", out)
	}
	if err := os.RemoveAll(filepath.Join(project, "node_modules", "@weir-mcp")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(project, "node_modules/.bin/weir"), "version")
	output, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "weir: hint: ") {
		t.Errorf("without the program of the platform: %v %s", err, output)
	}
}

// newRegistry serves the packages of a directory in the protocol of npm, and nothing else.
func newRegistry(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]map[string]any{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := packageJSON(t, data)
		sum := sha512.Sum512(data)
		m["dist"] = map[string]any{
			"tarball": "/-/" + filepath.Base(name), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		packages[m["name"].(string)] = m
	}
	files := http.StripPrefix("/-/", http.FileServer(http.Dir(dir)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/-/") {
			files.ServeHTTP(w, q)
			return
		}
		name, err := url.PathUnescape(strings.TrimPrefix(q.URL.EscapedPath(), "/"))
		m, ok := packages[name]
		if err != nil || !ok {
			http.NotFound(w, q)
			return
		}
		of := m["dist"].(map[string]any)
		copied := map[string]any{}
		for k, v := range m {
			copied[k] = v
		}
		copied["dist"] = map[string]any{"tarball": "http://" + q.Host + of["tarball"].(string), "integrity": of["integrity"]}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]any{"latest": m["version"]}, "versions": map[string]any{m["version"].(string): copied},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func packageJSON(t *testing.T, data []byte) map[string]any {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(plain)
	if _, err := archive.Next(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	decode(t, text, &m)
	return m
}

// TestGoInstall installs as go install …@latest does, from a module proxy on this machine, which serves Weir from the
// work tree and the modules of others from the cache.
func TestGoInstall(t *testing.T) {
	released(t)
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	proxy := t.TempDir()
	at := filepath.Join(proxy, "github.com/weir-mcp/weir/@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	const version = "v0.0.1"
	var packed bytes.Buffer
	copied := filepath.Join(t.TempDir(), "weir")
	if err := copySource(copied, filepath.Join("..")); err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(&packed, module.Version{Path: "github.com/weir-mcp/weir", Version: version}, copied); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": packed.Bytes(),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	modules := t.TempDir()
	env := []string{
		"GOBIN=" + bin, "GOMODCACHE=" + modules, "GOFLAGS=-trimpath -modcacherw", "GOSUMDB=off", "CGO_ENABLED=0",
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache/download"),
	}
	command(t, t.TempDir(), env, "go", "install", "github.com/weir-mcp/weir/cmd/weir@latest")
	works(t, "0.0.1", filepath.Join(bin, "weir"))
}
