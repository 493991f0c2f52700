package install_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
)

// applyHooks sets the hooks of a host up, with the setting by which it reads them, and returns their file.
func (w *world) applyHooks(t interface{ Fatal(...any) }, id string) *install.HookFile {
	all, notes := w.Hooks(install.Selection{Hosts: []string{id}})
	if h, _ := hosts.Lookup(id); len(all) != 1 && (h.Hooks.Setting == nil || len(all) != 2) || len(notes) != 0 {
		t.Fatal(all, notes)
	}
	for _, f := range all {
		if err := w.ApplyHooks(f); err != nil {
			t.Fatal(err)
		}
	}
	return all[0]
}

func (w *world) removeAll(t interface{ Fatal(...any) }) (all []*install.Removal) {
	all, err := w.Removals(install.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := w.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestHooks sets hooks up where none are, finds nothing more to do, and takes them out again.
func TestHooks(t *testing.T) {
	for id, file := range map[string]string{"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json",
		"qwen": ".qwen/settings.json", "copilot": ".copilot/settings.json", "cursor": ".cursor/hooks.json", "vscode": ".vscode/weir-hooks.json", "opencode": ".config/opencode/plugins/weir.js"} {
		t.Run(id, func(t *testing.T) {
			w := newWorld(t, id, file)
			if all, _ := w.Hooks(install.Selection{}); len(all) != 0 {
				t.Fatalf("hooks of a host that is not here: %+v", all)
			}
			if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
				t.Fatal(err)
			}
			if f := w.applyHooks(t, id); !f.Absent || len(f.Added) != len(f.Host.Hooks.Events) && !f.Plugin {
				t.Errorf("%+v", f)
			}
			if f := w.applyHooks(t, id); f.Absent || f.Changes() {
				t.Errorf("%+v", f)
			}
			text, err := os.ReadFile(w.file)
			if err != nil || !strings.Contains(string(text), w.exe) {
				t.Errorf("%v: %s", err, text)
			}
			for _, m := range w.removeAll(t) {
				if !m.Deletes() || m.Err != nil {
					t.Errorf("%+v", m)
				}
			}
			if _, err := os.Stat(w.file); !os.IsNotExist(err) {
				t.Error("the file is still there", err)
			}
		})
	}
}

// TestPlugin replaces a plugin of another Weir, removes one that was changed since, and leaves one that Weir did not write.
func TestPlugin(t *testing.T) {
	w := newWorld(t, "opencode", ".config/opencode/plugins/weir.js")
	if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
		t.Fatal(err)
	}
	w.applyHooks(t, "opencode")
	written := w.plugin(t)
	for _, changed := range []string{strings.ReplaceAll(written, w.exe, "/old/weir"), strings.ReplaceAll(written, "!== true", "=== false"), written + "// more\n"} {
		w.write(t, w.file, changed)
		if f := w.applyHooks(t, "opencode"); !f.Changes() || f.Absent || len(f.Diff()) == 0 || w.plugin(t) != written {
			t.Errorf("%+v\n%s", f, w.plugin(t))
		}
	}
	w.write(t, w.file, written+"// mine\n")
	if all := w.removeAll(t); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(w.file); !os.IsNotExist(err) {
		t.Error("the file is still there", err)
	}
	w.applyHooks(t, "opencode")
	const others = "export const Mine = async () => ({})\n"
	w.write(t, w.file, others)
	if all, notes := w.Hooks(install.Selection{Hosts: []string{"opencode"}}); len(all) != 0 || len(notes) != 1 || !notes[0].Bad {
		t.Errorf("%+v, %+v", all, notes)
	}
	all, err := w.Removals(install.Selection{})
	if err != nil || len(all) != 1 || all[0].Err == nil || w.plugin(t) != others {
		t.Errorf("%+v, %v", all, err)
	}
}

func (w *world) plugin(t *testing.T) string {
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLoadsCode finds settings by which a project has a host run its programs.
func TestLoadsCode(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{"plugin":[]}`: false, `{"plugin": ["x"]}`: true, `{"plugins":["x"]}`: true, `{"plugin":"x"}`: true, `{"plugin":null}`: true,
	} {
		if got := install.LoadsCode([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestHooksOfAnotherWeir replaces hooks that run Weir with other arguments, and leaves those of others.
func TestHooksOfAnotherWeir(t *testing.T) {
	w := newWorld(t, "claude-code", ".claude/settings.json")
	const others = `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"check"}]}]}}`
	w.write(t, w.file, `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"check"}]},`+
		`{"hooks":[{"type":"command","command":"/old/weir","args":["hook","claude-code","PreToolUse"]}]}]}}`)
	if f := w.applyHooks(t, "claude-code"); len(f.Stale) != 1 || f.Absent {
		t.Errorf("%+v", f)
	}
	text, err := os.ReadFile(w.file)
	if err != nil || strings.Contains(string(text), "/old/weir") || !strings.Contains(string(text), `"command":"check"`) {
		t.Errorf("%v: %s", err, text)
	}
	w.write(t, w.file, string(text)+"\n") // the host has written it meanwhile
	w.removeAll(t)
	if text, err = os.ReadFile(w.file); err != nil || strings.TrimSpace(string(text)) != others {
		t.Errorf("%v: %s", err, text)
	}
}

// TestHooksComeAndGo sets hooks up in generated files, byte for byte out again, and out of what the host has written meanwhile.
func TestHooksComeAndGo(t *testing.T) {
	w := newWorld(t, "claude-code", ".claude/settings.json")
	rapid.Check(t, func(t *rapid.T) {
		settings := map[string]any{"model": "x", "permissions": map[string]any{"allow": []any{"Bash(ls:*)"}}}
		if rapid.Bool().Draw(t, "hooks") {
			settings["hooks"] = map[string]any{"Stop": []any{}, "PreToolUse": []any{map[string]any{"matcher": "Bash", "hooks": []any{}}}}
		}
		src, err := json.MarshalIndent(settings, "", rapid.SampledFrom([]string{" ", "    ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, w.file, string(src))
		w.applyHooks(t, "claude-code")
		if !rapid.Bool().Draw(t, "rewritten") {
			w.removeAll(t)
			if diff := cmp.Diff(string(src), w.read(t)); diff != "" {
				t.Fatal(diff)
			}
			return
		}
		var now map[string]any
		if err := json.Unmarshal([]byte(w.read(t)), &now); err != nil {
			t.Fatal(err)
		}
		now["model"] = "y"
		text, err := json.Marshal(now)
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, w.file, string(text))
		w.removeAll(t)
		settings["model"] = "y"
		want, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), w.read(t)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestHooksKnowWraps has entries of the user that run this Weir already: their calls are not decided on a second time.
func TestHooksKnowWraps(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{`"a": {"command": "EXE", "args": ["wrap", "--", "npx"]}, "b": {"command": "npx"}`, " --entry weir --entry a"},
		{`"a": {"command": "EXE", "args": ["run"]}`, " --entry a"},
		{`"a": {"command": "/other/weir", "args": ["wrap", "--", "npx"]}`, ""},
		{`"a": {"command": "EXE", "args": ["hook"]}`, " --entry weir"},
	} {
		w := newWorld(t, "claude-code", ".claude.json")
		check(t, os.Chmod(w.exe, 0o700))
		w.write(t, w.file, `{"mcpServers": {`+strings.ReplaceAll(c.list, "EXE", w.exe)+`}}`)
		plan, err := w.Plan(install.Selection{})
		if err != nil || len(plan.Files) != 1 {
			t.Fatal(err, plan)
		}
		check(t, w.Apply(plan.Files[0]))
		f := w.applyHooks(t, "claude-code")
		var group struct{ Hooks []struct{ Args []string } }
		check(t, json.Unmarshal(f.Added[0].Value, &group))
		all := " " + strings.Join(group.Hooks[0].Args, " ")
		got := ""
		if at := strings.Index(all, " --entry"); at >= 0 {
			got = all[at:]
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.list, got, c.want)
		}
	}
}

// TestGuardedHooks runs the command lines of hooks whose hosts go on after most failures: however the program fails,
// the status is the one that denies, with a reason. That of a beginning keeps no message of the user from the agent.
func TestGuardedHooks(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, id := range []string{"gemini", "qwen", "copilot", "cursor"} {
		h, _ := hosts.Lookup(id)
		w := newWorld(t, id, strings.TrimPrefix(h.Hooks.File.Path, "~/"))
		check(t, os.MkdirAll(filepath.Dir(w.file), 0o700))
		f := w.applyHooks(t, id)
		for program, status := range map[string]int{
			"": 2, "exit 0": 0, "exit 1": 2, "exit 2": 2, "exit 127": 2, "kill -KILL $$": 2, "kill -SEGV $$": 2,
		} {
			check(t, os.RemoveAll(w.exe))
			if program != "" {
				check(t, os.WriteFile(w.exe, []byte("#!/bin/sh\n"+program+"\n"), 0o700))
			}
			for n, e := range f.Added {
				if n == 0 && status != 0 {
					status = 1
				} else if status != 0 {
					status = 2
				}
				var one struct {
					Command, Bash string
					Hooks         []struct{ Command string }
				}
				check(t, json.Unmarshal(e.Value, &one))
				line := one.Command + one.Bash
				if len(one.Hooks) == 1 {
					line = one.Hooks[0].Command
				}
				cmd := exec.Command(bash, "-c", line)
				var reason strings.Builder
				cmd.Stderr = &reason
				out, err := cmd.Output()
				var ended *exec.ExitError
				if err != nil && !errors.As(err, &ended) {
					t.Fatal(err)
				}
				if got := cmd.ProcessState.ExitCode(); got != status || len(out) > 0 || (reason.Len() > 0) != (status != 0) {
					t.Errorf("%s %v, %q: status %d, %q, %q", id, e.Array, program, got, out, &reason)
				}
			}
		}
	}
}

// TestHooksSwitchedOff finds files that say that Weir's hook does not run.
func TestHooksSwitchedOff(t *testing.T) {
	for text, off := range map[string]bool{
		`{"disableAllHooks": true}`: true, `{"disableAllHooks": false}`: false, `{"hooksConfig": {"enabled": false}}`: true,
		`{"hooksConfig": {"enabled": true, "disabled": ["other"]}}`: false, "{ // mine\n\"hooksConfig\": {\"disabled\": [\"other\", \"weir\"]}}": true, `{}`: false,
		`{"disableAllHooks": 1}`: true, `{"disableAllHooks": "yes"}`: true, `{"disableAllHooks": "false"}`: true, `{"disableAllHooks": null}`: true,
		`{"hooksConfig": {"enabled": 0}}`: true, `{"hooksConfig": {"disabled": ["${W:-weir}"]}}`: true, `{"hooksConfig": {"disabled": "weir"}}`: true,
		`{"hooksConfig": {"disabled": [1]}}`: true, `{"hooksConfig": {"disabled": [], "notifications": false}}`: false, `{"hooksConfig": "${X}"}`: true,
		`{"hooksConfig": {"new": true}}`: true, `{"disabledHooks": ["a1b2"]}`: true, `{"disabledHooks": []}`: false,
	} {
		w := newWorld(t, "gemini", ".gemini/settings.json")
		w.write(t, w.file, text)
		all, notes := w.Hooks(install.Selection{Hosts: []string{"gemini"}})
		if len(all) != 1 || len(notes) != 0 || all[0].Off != off {
			t.Errorf("%s: %+v, %+v", text, all, notes)
		}
	}
}

// TestHooksRefuse leaves files alone that are not understood.
func TestHooksRefuse(t *testing.T) {
	for _, text := range []string{"", "{", `{"hooks":[]}`, `{"hooks":{"PreToolUse":{}}}`, `{"a":1,"a":2}`} {
		w := newWorld(t, "claude-code", ".claude/settings.json")
		w.write(t, w.file, text)
		if all, notes := w.Hooks(install.Selection{}); len(all) != 0 || len(notes) != 1 || !notes[0].Bad {
			t.Errorf("%q: %+v, %+v", text, all, notes)
		}
	}
}

// TestHookCommandLineOnWindows writes command lines that cmd.exe and PowerShell read alike, and none where they would not.
func TestHookCommandLineOnWindows(t *testing.T) {
	for exe, want := range map[string]string{
		`C:\weir\weir.exe`:          `C:\weir\weir.exe hook codex PreToolUse --env A=D:\state --env HOME=C:\nobody`,
		`C:\Program Files\weir.exe`: "",
		`C:\%TEMP%\weir.exe`:        "",
		`C:\a&b\weir.exe`:           "",
		`C:\it's\weir.exe`:          "",
		`C:\$x\weir.exe`:            "",
	} {
		in := install.New(install.Options{Machine: hosts.Machine{OS: "windows", Home: `C:\nobody`}, State: `D:\state`, Exe: exe,
			Env: map[string]string{"A": `D:\state`}})
		all, notes := in.Hooks(install.Selection{Hosts: []string{"codex"}})
		if want == "" {
			if len(all) != 0 || len(notes) != 1 || !notes[0].Bad || notes[0].Hint == "" {
				t.Errorf("%s: %+v, %+v", exe, all, notes)
			}
			continue
		}
		if len(all) != 1 || len(notes) != 0 {
			t.Fatalf("%s: %+v", exe, notes)
		}
		var group struct{ Hooks []struct{ Command string } }
		check(t, json.Unmarshal(all[0].Added[1].Value, &group))
		if got := group.Hooks[0].Command; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestHookCommandLine holds the quoting of words for the shell of a host without lists of arguments.
func TestHookCommandLine(t *testing.T) {
	w := newWorld(t, "codex", ".codex/hooks.json")
	odd := filepath.Join(w.home, "it's here", "weir")
	w.write(t, odd, "")
	w.Installer = install.New(install.Options{Machine: hosts.Machine{OS: "linux", Home: w.home}, State: filepath.Join(w.home, "state"), Exe: odd,
		Env: map[string]string{"XDG_STATE_HOME": "/s t/$x"}})
	if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
		t.Fatal(err)
	}
	w.applyHooks(t, "codex")
	src, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := hostfile.Elements(hosts.JSON, src, []string{"hooks", "PreToolUse"})
	if err != nil || len(all) != 1 {
		t.Fatal(err, all)
	}
	var group struct{ Hooks []struct{ Command string } }
	if err := json.Unmarshal(all[0].Value, &group); err != nil {
		t.Fatal(err)
	}
	want := `'` + strings.ReplaceAll(odd, `'`, `'\''`) + `' hook codex PreToolUse --env HOME=` + w.home + ` --env 'XDG_STATE_HOME=/s t/$x'`
	if got := group.Hooks[0].Command; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
