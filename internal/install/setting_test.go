package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
)

// TestSettings has VS Code read the file of its hooks by the user's settings, and gives these their text back: byte for
// byte, and without Weir's member where they have changed since.
func TestSettings(t *testing.T) {
	const ours = `"~/.vscode/weir-hooks.json"`
	for _, c := range []struct{ name, before, changed, after string }{
		{"none", "", "", ""},
		{"others", "{\n\t// mine\n\t\"a\": 1,\n}\n", "", "{\n\t// mine\n\t\"a\": 1,\n}\n"},
		{"places", `{"chat.hookFilesLocations": {".github/hooks": false}}`, "", `{"chat.hookFilesLocations": {".github/hooks": false}}`},
		{"changed since", `{"chat.hookFilesLocations": {"x": true}}`, `{"b": 2, "chat.hookFilesLocations": {"x": true, ` + ours + `: true}}`,
			`{"b": 2, "chat.hookFilesLocations": {"x": true}}`},
		{"switched off before", `{"chat.hookFilesLocations": {` + ours + `: false}}`, `{"b": 2, "chat.hookFilesLocations": {` + ours + `: true}}`,
			`{"b": 2, "chat.hookFilesLocations": {` + ours + `: false}}`},
		{"taken out by hand", `{"a": 1}`, `{"a": 2}`, `{"a": 2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "vscode", ".config/Code/User/settings.json")
			if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(w.home, ".vscode"), 0o700); err != nil {
				t.Fatal(err)
			}
			if c.before != "" {
				if err := os.WriteFile(w.file, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.applyHooks(t, "vscode")
			text, err := os.ReadFile(w.file)
			if err != nil || !strings.Contains(string(text), ours+": true") {
				t.Fatalf("%v: %s", err, text)
			}
			if all, _ := w.Hooks(install.Selection{Hosts: []string{"vscode"}}); all[0].Changes() || all[1].Changes() || all[1].Absent || all[1].Off {
				t.Errorf("a second time: %+v", all)
			}
			if c.changed != "" {
				if err := os.WriteFile(w.file, []byte(c.changed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range w.removeAll(t) {
				if m.Err != nil {
					t.Error(m.Path, m.Err)
				}
			}
			text, err = os.ReadFile(w.file)
			if gone := os.IsNotExist(err); gone != (c.after == "") || string(text) != c.after {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// TestUnread finds settings that keep VS Code from reading Weir's hooks.
func TestUnread(t *testing.T) {
	h, _ := hosts.Lookup("vscode")
	for text, want := range map[string]bool{
		`{}`: false, `{"chat.useHooks": true}`: false, `{"chat.hookFilesLocations": {"x": false}}`: false,
		`{"chat.useHooks": false}`: true, `{"chat.useHooks": null}`: true, `{"chat.hookFilesLocations": []}`: true,
		`{"chat.hookFilesLocations": {"~/.vscode/weir-hooks.json": false}}`: true,
		"{ // no\n\"chat.useHooks\": false, }":                              true,
	} {
		if got := install.Unread(h, hostfile.Standard([]byte(text))); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if other, _ := hosts.Lookup("codex"); install.Unread(other, []byte(`{"chat.useHooks": false}`)) {
		t.Error("settings of VS Code count for Codex")
	}
}
