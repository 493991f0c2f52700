package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
)

// world is a home directory with a work tree that holds a weir.yaml, and Weir's state directory.
type world struct {
	t           testing.TB
	home, tree  string
	state       string
	ground      *files.Ground
	elsewhere   string
	ownProcess  int
	ownEndpoint string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, tree: filepath.Join(home, "proj"), state: filepath.Join(home, ".local/state/weir"), ownProcess: 424242, ownEndpoint: "127.0.0.1:7777"}
	w.elsewhere = filepath.Join(home, "other")
	for _, f := range []string{"proj/weir.yaml", "proj/policy.yaml", "proj/src/main.go", "proj/docs/a.txt", ".local/state/weir/state.db", "other/policy.yaml", "other/x.txt"} {
		w.write(f, f)
	}
	w.link("proj/docs/link", w.tree+"/weir.yaml")
	w.link("proj/docs/up", "../")
	w.link("proj/docs/dangling", "../weir.lock")
	w.link("proj/docs/chain", "link")
	w.link("proj/s", w.home+"/.local/state")
	if err := os.Link(filepath.Join(w.tree, "weir.yaml"), filepath.Join(w.tree, "docs/hard.txt")); err != nil {
		t.Fatal(err)
	}
	w.ground = files.New(files.Options{
		Own:       []string{w.tree + "/weir.yaml", w.tree + "/weir.lock", w.tree + "/policy.yaml", w.state},
		Processes: []int{w.ownProcess}, Addresses: []string{w.ownEndpoint}, Home: home, Dir: w.tree,
		Servers: map[string]files.Server{
			"fs":     {Command: []string{"npx", "server-filesystem", w.tree}, Dir: home},
			"box":    {Command: []string{"docker", "run", "-i", "-v", w.tree + ":/code", "--mount", "type=bind,src=" + w.state + ",dst=/s", "-w", "/code", "img"}},
			"remote": {Far: true},
			"near":   {},
		},
	})
	return w
}

func (w *world) write(name, content string) {
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(name, to string) {
	if err := os.Symlink(to, filepath.Join(w.home, name)); err != nil {
		w.t.Fatal(err)
	}
}

// TestOwnByPath gives tools one path each.
func TestOwnByPath(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		server, path string
		own          bool
	}{
		{"fs", "HOME/proj/weir.yaml", true}, {"fs", "weir.yaml", true}, {"fs", "./weir.yaml", true}, {"fs", "proj/weir.yaml", true},
		{"fs", "HOME/proj/./docs/../weir.yaml", true}, {"fs", "HOME/proj//weir.yaml", true}, {"fs", "HOME/proj/WEIR.YAML", true},
		{"fs", "file://HOME/proj/weir.yaml", true}, {"fs", "file:HOME/proj/weir.yaml", true}, {"fs", "FILE://localhostHOME/proj/weir.yaml", true},
		{"fs", "file://HOME/proj/%77eir.yaml", true}, {"fs", "file://HOME/proj/%2577eir.yaml", true}, {"fs", "HOME%2Fproj%2Fweir.yaml", true},
		{"fs", "~/proj/weir.yaml", true}, {"fs", "$HOME/proj/weir.yaml", true}, {"fs", "${HOME}/proj/weir.yaml", true},
		{"fs", "HOME/proj/docs/link", true}, {"fs", "HOME/proj/docs/chain", true}, {"fs", "HOME/proj/docs/hard.txt", true},
		{"fs", "HOME/proj/docs/up/weir.yaml", true}, {"fs", "HOME/proj/docs/dangling", true}, {"fs", "docs/link", true},
		{"fs", "HOME/proj/weir.lock", true}, {"fs", "HOME/proj/docs/up/../proj/weir.lock", true}, {"fs", "HOME/proj/s/weir/state.db-wal", true},
		{"fs", "HOME/.local/state/weir", true}, {"fs", "HOME/.local/state/weir/pins/x.lock", true}, {"fs", "HOME/.local/state/weir/../weir/folders.json", true},
		{"fs", "/proc/self/rootHOME/proj/weir.yaml", true}, {"fs", "/proc/self/cwd/proj/weir.yaml", true}, {"fs", "/proc/424242/mem", true},
		{"fs", "HOME/proj/weir.yaml\x00.txt", true}, {"fs", "HOME/proj/weir.yaml.", true}, {"fs", "HOME/proj/weir.yaml::$DATA", true},
		{"fs", " HOME/proj/weir.yaml ", true}, {"fs", `"HOME/proj/weir.yaml"`, true}, {"fs", "sqlite:HOME/.local/state/weir/state.db", true},
		{"fs", "http://127.0.0.1:7777/answer", true}, {"fs", "http://localhost:7777", true}, {"fs", "http://2130706433:7777/", true}, {"fs", "http://[::1]:7777/", true},
		{"box", "/code/weir.yaml", true}, {"box", "weir.yaml", true}, {"box", "/s/state.db", true}, {"box", "/code/docs/up/weir.yaml", true}, {"box", "/other/weir.txt", false},
		{"near", "HOME/proj/weir.yaml", true}, {"", "HOME/proj/weir.yaml", true}, {"remote", "HOME/proj/weir.yaml", false}, {"remote", "weir.yaml", false},
		{"fs", "HOME/proj", false}, {"fs", ".", false}, {"fs", "src/main.go", false}, {"fs", "HOME/proj/weir.yaml.bak", false}, {"fs", "HOME/proj/policy.yml", false},
		{"fs", "HOME/other/policy.yaml", false}, {"fs", "http://127.0.0.1:77771/", false}, {"fs", "http://127.0.0.1:3000/", false}, {"fs", "https://example.com:7777/", false},
		{"fs", "weir", false}, {"fs", "", false},
	} {
		path := strings.ReplaceAll(c.path, "HOME", w.home)
		if strings.HasPrefix(c.path, "$HOME") || strings.HasPrefix(c.path, "${HOME}") {
			path = c.path
		}
		got := w.ground.Own(guard.Touch{Server: c.server, Name: "read_file", Texts: []guard.Text{{Path: "path", Text: path}}})
		if (got != "") != c.own {
			t.Errorf("%s: %q: %q, want own: %v", c.server, c.path, got, c.own)
		}
	}
}

// TestOwnByAddress spells the address where Weir serves as programs read it, and others.
func TestOwnByAddress(t *testing.T) {
	w := newWorld(t)
	for text, own := range map[string]bool{
		"http://127.0.0.1:7777/": true, "http://127.0.0.1:07777/": true, "http://127.0.0.1:０7777/": true, "http://①②⑦.0.0.1:7777/": true,
		"http://127。0。0。1:7777/": true, "http://127．0．0．1：7777/": true, "http://ⓛocalhost:7777": true, "http://LOCALHOST.:7777/": true,
		"http://0x7f.1:7777/": true, "http://0177.0.0.1:7777/": true, "http://127.1:7777/": true, "http://017700000001:7777/": true,
		"http://0:7777/": true, "http://[::ffff:127.0.0.1]:7777/": true, "http://[::1%25lo]:7777/": true, "http://a@127.0.0.1:7777/": true,
		"http://%31%32%37.0.0.1:7777/": true, "http://127.0.0.1:77\n77/": true, "ht\ttp://127.0.0.1:\t7777/": true, `http:\\127.0.0.1:7777\x`: true,
		"http:127.0.0.1:7777/": true, "//127.0.0.1:7777": true, ":7777": true, "x.localhost:7777": true, "http://host.docker.internal:7777/": true,
		"http://localhost.localdomain:7777/": true, "http://127.000.000.001:7777": true, "http://0127.0.0.1:7777/": true, "http://ip6-localhost:7777/": true,
		"nc 127.0.0.1 7777": true, "connect(('127.0.0.1', 7777))": true, "cat < /dev/tcp/127.0.0.1/7777": true, "curl --x=127.0.0.1:7777": true,
		"http://127.0.0.1:77770/": false, "http://127.0.0.1:17777/": false, "http://127.0.0.1:3000/": false, "http://10.0.0.1:7777/": false,
		"http://example.com:7777/": false, "http://127.0.0.1.example.com:7777/": false, "echo 7777": false, "127.0.0.1 and then 7777": false,
		"http://bücher.example:7777/": false, "sleep 7777": false, "a[0:7777]": false, "a[1]:7777": false, "b@[::1]:7777": true, "http:[0::1]:7777": true, "7777": false, "1.7777": false,
	} {
		got := w.ground.Own(guard.Touch{Server: "fs", Name: "fetch", Texts: []guard.Text{{Path: "url", Text: text}}})
		if (got != "") != own {
			t.Errorf("%q: %q, want own: %v", text, got, own)
		}
	}
	for _, c := range []struct {
		host, port string
		own        bool
	}{{"127.0.0.1", "7777", true}, {"localhost", "07777", true}, {"LocalHost", "7777.0", true}, {"example.com", "7777", false}, {"127.0.0.1", "3000", false}} {
		got := w.ground.Own(guard.Touch{Server: "fs", Name: "connect", Texts: []guard.Text{{Path: "host", Text: c.host}, {Path: "port", Text: c.port}}})
		if (got != "") != c.own {
			t.Errorf("%s, %s: %q, want own: %v", c.host, c.port, got, c.own)
		}
	}
}

// TestOwnByCommand gives shells, databases and interpreters one command each.
func TestOwnByCommand(t *testing.T) {
	w := newWorld(t)
	for command, own := range map[string]bool{
		"cat weir.yaml":                                           true,
		"sed -i s/enforce/audit/ proj/weir.yaml":                  true,
		"cd proj && echo 'mode: audit' >> weir.yaml":              true,
		"cd proj; echo x > \"we\"ir.yaml":                         true,
		`cd proj; echo x > we\ir.yaml`:                            true,
		"cp /tmp/x ~/proj/weir.yaml":                              true,
		"rm -rf ~/.local/state/weir":                              true,
		"rm -rf ~/.local":                                         true,
		"rm -rf $HOME/proj":                                       true,
		"mv ~/proj ~/gone":                                        true,
		"bash -c 'rm -r HOME/proj'":                               true,
		"cd proj && sed -i s/a/b/ we?r.yaml":                      true,
		"cd proj && rm w*":                                        true,
		"cd proj && rm [v-x]eir.yaml":                             true,
		"cd proj && rm [!a]eir.yaml":                              true,
		"cd proj && rm [[:alpha:]]eir.yaml":                       true,
		"cd proj && rm []w]eir.yam[l]":                            true,
		"cd proj && rm we[i]r.[a-y]*":                             true,
		`save(path="b", text=f["text"])`:                          false,
		"x[0] = y[1] > 2; save(z[":                                false,
		"rm f[":                                                   false,
		"sqlite3 HOME/.local/state/weir/state.db .dump":           true,
		"kill -9 424242":                                          true,
		"pkill weir":                                              true,
		"kill -9 -1":                                              true,
		"kill $(pidof weir)":                                      true,
		"python3 -c \"import os; os.kill(424242, 9)\"":            true,
		"python3 -c \"import shutil; shutil.rmtree('HOME')\"":     true,
		"ATTACH DATABASE 'HOME/.local/state/weir/state.db' AS x":  true,
		"COPY t TO 'HOME/proj/policy.yaml'":                       true,
		"curl http://localhost:7777/":                             true,
		"cat HOME/proj/docs/link":                                 true,
		"go test ./... && git commit -am 'x'":                     false,
		"cd HOME/proj && rm -rf build":                            false,
		"ls -la HOME/proj":                                        false,
		"grep -rn main *":                                         false,
		"cat *.yaml":                                              false,
		"find . -name '*.pyc' -delete":                            false,
		"mv src/main.go HOME/proj":                                false,
		"cat HOME/other/policy.yaml":                              false,
		"kill 12345":                                              false,
		"echo 424242":                                             false,
		"select * from weir":                                      false,
		"weir approve K7Q2":                                       true,
		"/usr/local/bin/weir.exe --store x approve --yes K7Q2":    true,
		"sleep 1; yes | script -qc 'weir approve K7Q2' /dev/null": true,
		`subprocess.run(["weir", "session", "new", "--yes"])`:     true,
		`we"i"r approve K7Q2`:                                     true,
		"weir --accept=true review":                               true,
		"export WEIR_SCRIPTED_APPROVAL=1":                         true,
		"weir approvals":                                          false,
		"weir review":                                             false,
		"weir wrap -- npx approve":                                true,
		"weir lint deny":                                          true,
	} {
		text := strings.ReplaceAll(strings.ReplaceAll(command, "$HOME", "\x01"), "HOME", w.home)
		text = strings.ReplaceAll(text, "\x01", "$HOME")
		for _, content := range []bool{false, true} {
			got := w.ground.Own(guard.Touch{Server: "fs", Name: "run_command", Changes: true, Texts: []guard.Text{{Path: "command", Text: text, Content: content}}})
			if (got != "") != own {
				t.Errorf("%q: %q, want own: %v", command, got, own)
			}
		}
	}
}

// TestOwnByCall gives whole calls: folders around Weir's files, names that belong together, and work that has to go on.
func TestOwnByCall(t *testing.T) {
	w := newWorld(t)
	arg := func(path, text string) guard.Text {
		return guard.Text{Path: path, Text: strings.ReplaceAll(text, "HOME", w.home)}
	}
	content := arg("content", "see HOME/proj/weir.yaml, weir.yaml and policy.yaml\nrm -rf ~/proj")
	content.Content = true
	for _, c := range []struct {
		tool    string
		changes bool
		texts   []guard.Text
		own     bool
	}{
		{"move_file", true, []guard.Text{arg("source", "HOME/proj"), arg("destination", "HOME/gone")}, true},
		{"move_file", true, []guard.Text{arg("source", "HOME/.local"), arg("destination", "/tmp/x")}, true},
		{"delete_directory", true, []guard.Text{arg("path", "HOME")}, true},
		{"deleteFolder", true, []guard.Text{arg("path", "proj")}, true},
		{"archive", true, []guard.Text{arg("folder", "HOME/proj/docs/up")}, true},
		{"chmod", true, []guard.Text{arg("path", "HOME/proj"), arg("mode", "000")}, true},
		{"save", true, []guard.Text{arg("savePath", "HOME/proj"), arg("filename", "weir.yaml")}, true},
		{"kill_process", true, []guard.Text{arg("pid", "424242")}, true},
		{"kill_process", true, []guard.Text{arg("pid", "-9223372036854775808")}, false},
		{"terminate", true, []guard.Text{arg("process", "424242")}, true},
		{"write_file", true, []guard.Text{arg("path", "HOME/proj/docs/readme.md"), content}, false},
		{"move_file", true, []guard.Text{arg("source", "HOME/proj/a.txt"), arg("destination", "HOME/proj")}, false},
		{"list_directory", false, []guard.Text{arg("path", "HOME/proj")}, false},
		{"directory_tree", false, []guard.Text{arg("path", "HOME")}, false},
		{"git_commit", true, []guard.Text{arg("repo_path", "HOME/proj"), arg("message", "say how weir.yaml.bak is made")}, false},
		{"git_add", true, []guard.Text{arg("repo_path", "HOME/proj"), arg("files", ".")}, false},
		{"run_command", true, []guard.Text{arg("command", "weir"), arg("args[0]", "approve"), arg("args[1]", "K7Q2")}, true},
		{"search", false, []guard.Text{arg("query", "does weir approve calls?")}, false},
		{"set_timer", true, []guard.Text{arg("seconds", "424242")}, false},
	} {
		if got := w.ground.Own(guard.Touch{Server: "fs", Name: c.tool, Changes: c.changes, Texts: c.texts}); (got != "") != c.own {
			t.Errorf("%s %v: %q, want own: %v", c.tool, c.texts, got, c.own)
		}
	}
}

func (w *world) filled(s string) string { return strings.ReplaceAll(s, "HOME", w.home) }

// BenchmarkOwn looks at a call that reads one file.
func BenchmarkOwn(b *testing.B) {
	w := newWorld(b)
	touch := guard.Touch{Server: "fs", Name: "read_file", Texts: []guard.Text{{Path: "path", Text: "docs/a.txt"}}}
	b.ReportAllocs()
	for b.Loop() {
		if own := w.ground.Own(touch); own != "" {
			b.Fatal(own)
		}
	}
}
