package install_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
)

// A world is a home directory with the file of one host.
type world struct {
	home, exe, file string
	format          hosts.Format
	list            []string
	*install.Installer
}

func newWorld(t *testing.T, id, file string) *world {
	home := t.TempDir()
	w := &world{home: home, exe: filepath.Join(home, "bin", "weir"), file: filepath.Join(home, file)}
	h, _ := hosts.Lookup(id)
	w.format, w.list = h.Files[0].Format, h.Files[0].List
	w.write(t, w.exe, "")
	w.Installer = install.New(install.Options{
		Machine: hosts.Machine{OS: "linux", Home: home}, State: filepath.Join(home, "state"), Exe: w.exe,
	})
	return w
}

func (w *world) write(t interface{ Fatal(...any) }, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) read(t *rapid.T) string {
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// install puts the servers behind Weir and returns the plan's one list.
func (w *world) install(t *rapid.T) install.Part {
	plan, err := w.Plan(install.Selection{})
	if err != nil || len(plan.Files) != 1 || len(plan.Notes) != 0 {
		t.Fatalf("%v, %+v", err, plan)
	}
	if err := w.Apply(plan.Files[0]); err != nil {
		t.Fatal(err)
	}
	return plan.Files[0].Parts[0]
}

func (w *world) uninstall(t *rapid.T) *install.Removal {
	all, err := w.Removals(install.Selection{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %d", err, len(all))
	}
	if _, err := w.Remove(all[0]); err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func (w *world) entries(t *rapid.T, text string) map[string]string {
	all, err := hostfile.Entries(w.format, []byte(text), w.list)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	values := map[string]string{}
	for _, e := range all {
		values[e.Name] = string(e.Value)
	}
	return values
}

// TestInstall puts generated configurations behind Weir and takes them out again, with and without a host that rewrites its file
// in between.
func TestInstall(t *testing.T) {
	for id, file := range map[string]string{
		"claude-code": ".claude.json", "vscode": ".config/Code/User/mcp.json", "codex": ".codex/config.toml", "goose": ".config/goose/config.yaml",
		"continue": ".continue/config.yaml",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, id, file)
			rapid.Check(t, func(t *rapid.T) {
				if err := os.RemoveAll(filepath.Join(w.home, "state")); err != nil {
					t.Fatal(err)
				}
				w.round(t)
			})
		})
	}
}

func (w *world) round(t *rapid.T) {
	servers := rapid.MapOfN(anyName, anyServer(), 1, 4).Draw(t, "servers")
	before := w.text(t, servers)
	w.write(t, w.file, before)
	part := w.install(t)
	if len(part.Taken) != len(servers) {
		t.Fatalf("took %d of %d: %+v\n%s", len(part.Taken), len(servers), part.Left, before)
	}
	installed := w.read(t)
	if got := slices.Collect(maps.Keys(w.entries(t, installed))); !slices.Equal(got, []string{part.Entry}) {
		t.Fatalf("%q stands there after installing", got)
	}
	w.checkConfig(t, part, servers, installed)
	if again, err := w.Plan(install.Selection{}); err != nil || again.Files[0].Changes() {
		t.Fatalf("a second time: %v\n%s", err, strings.Join(again.Files[0].Diff(), "\n"))
	}
	if rapid.Bool().Draw(t, "rewritten") {
		w.rewritten(t, installed, servers)
		return
	}
	if m := w.uninstall(t); !m.Exact {
		t.Fatal("not exact")
	}
	if diff := cmp.Diff(before, w.read(t)); diff != "" {
		t.Fatal(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, "state", "*", "*", "*.yaml")); len(left) > 0 {
		t.Fatalf("%q are left", left)
	}
}

// rewritten has the host add a server, and drop everything but the meaning of its file.
func (w *world) rewritten(t *rapid.T, installed string, servers map[string]server) {
	added := hostfile.Entry{Name: "added later", Value: []byte(`{"command":"later"}`)}
	text, err := hostfile.Replace(w.format, []byte(installed), hostfile.Change{List: w.list, Put: []hostfile.Entry{added}})
	if err != nil {
		t.Fatal(err)
	}
	if w.format == hosts.JSON || w.format == hosts.JSONC {
		var v any
		if err := json.Unmarshal(hostfile.Standard(text), &v); err != nil {
			t.Fatal(err)
		}
		if text, err = json.MarshalIndent(v, "", "    "); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, w.file, string(text))
	if m := w.uninstall(t); m.Exact {
		t.Fatal("exact, although the host has rewritten the file")
	}
	got := w.entries(t, w.read(t))
	want := append(slices.Collect(maps.Keys(servers)), "added later")
	slices.Sort(want)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Fatalf("%q, want %q", names, want)
	}
	if !strings.Contains(w.read(t), "keep-me") {
		t.Fatal("the rest of the file is lost")
	}
}

// checkConfig compares the configuration, as Weir reads it with the variables of its entry, with the servers.
func (w *world) checkConfig(t *rapid.T, part install.Part, servers map[string]server, installed string) {
	if info, err := os.Stat(part.Config); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, err := os.ReadFile(part.Config)
	if err != nil {
		t.Fatal(err)
	}
	var entry struct{ Env, Envs map[string]string }
	if err := json.Unmarshal([]byte(w.entries(t, installed)[part.Entry]), &entry); err != nil {
		t.Fatal(err)
	}
	vars := entry.Env
	if vars == nil {
		vars = entry.Envs
	}
	c, err := config.Load(part.Config, text, config.Options{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, taken := range part.Taken {
		i := slices.IndexFunc(c.Servers, func(s config.Server) bool { return s.Name == taken.As })
		if i < 0 {
			t.Fatalf("%s is not in\n%s", taken.As, text)
		}
		got, want := c.Servers[i], servers[taken.Name]
		if got.Command != want.command || !slices.Equal(got.Args, want.args) || !maps.Equal(got.Env, want.env) {
			t.Fatalf("%+v, want %+v in\n%s", got, want, text)
		}
	}
}

// A server is a generated one.
type server struct {
	command string
	args    []string
	env     map[string]string
}

var (
	anyName = rapid.OneOf(rapid.SampledFrom([]string{"a", "files", "Ünïcode", "with space", "a.b", "a-b", "true", "q\"q", "weir", "漢"}),
		rapid.StringMatching(`[a-z][a-z0-9_.-]{0,12}`))
	anyText = rapid.OneOf(rapid.SampledFrom([]string{"", "x", "a\"b\\c", "ü—→ 漢字", "tab\there", "${env:TOKEN}", "${workspaceFolder}/x", "$HOME", "{env:A}", "$${", "# no", "//", "a: b", "- x", "1.10", "no", "two\nlines", "sk-12345678"}),
		rapid.StringMatching(`[ -~]{0,20}`))
)

func anyServer() *rapid.Generator[server] {
	return rapid.Custom(func(t *rapid.T) server {
		return server{
			command: rapid.SampledFrom([]string{"npx", "/usr/bin/x", "uvx"}).Draw(t, "command"),
			args:    rapid.SliceOfN(anyText, 0, 4).Draw(t, "args"),
			env:     rapid.MapOfN(rapid.StringMatching(`[A-Z][A-Z0-9_]{0,8}`), anyText, 0, 3).Draw(t, "env"),
		}
	})
}

func quote(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSpace(b.String())
}

// text writes the file of the host.
func (w *world) text(t *rapid.T, servers map[string]server) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		switch {
		case w.format == hosts.TOML:
			fmt.Fprintf(&b, "[mcp_servers.%s] # s\ncommand = %s\nargs = %s\n[mcp_servers.%s.env]\n", quote(name), quote(s.command), quote(s.args), quote(name))
			for k, v := range s.env {
				fmt.Fprintf(&b, "%s = %s\n", k, quote(v))
			}
		case w.list[0] == "mcpServers" && w.format == hosts.YAML:
			fmt.Fprintf(&b, "  - name: %s # s\n    command: %s\n    args: %s\n    env: %s\n", quote(name), quote(s.command), quote(s.args), quote(s.env))
		case w.format == hosts.YAML:
			fmt.Fprintf(&b, "  %s: # s\n    type: stdio\n    cmd: %s\n    args: %s\n    envs: %s\n", quote(name), quote(s.command), quote(s.args), quote(s.env))
		default:
			if b.Len() > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, "    %s: {\"command\": %s, \"args\": %s, \"env\": %s}", quote(name), quote(s.command), quote(s.args), quote(s.env))
		}
	}
	text := map[hosts.Format]string{
		hosts.TOML: "# mine\nmodel = \"keep-me\"\n" + b.String() + "\n[tui]\nx = 1 # one\n", hosts.YAML: "# mine\nmodel: keep-me\n" + w.list[0] + ":\n" + b.String() + "\n# end\nlast: 1\n",
		hosts.JSON:  "{\n  \"model\": \"keep-me\",\n  \"" + w.list[0] + "\": {\n" + b.String() + "\n  }\n}\n",
		hosts.JSONC: "// mine\n{\n  \"model\": \"keep-me\", // it\n  \"" + w.list[0] + "\": {\n" + b.String() + ",\n  },\n}\n",
	}[w.format]
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if rapid.Bool().Draw(t, "no final newline") {
		text = strings.TrimRight(text, "\r\n")
	}
	if rapid.IntRange(0, 3).Draw(t, "bom") == 0 {
		text = "\ufeff" + text
	}
	return text
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
