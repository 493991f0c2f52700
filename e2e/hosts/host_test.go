//go:build unix

package hosts

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A host is a program under test.
type host struct {
	id string // as weir install has it
	// prepare writes the host's files, with servers.
	prepare func(r *rig, servers []server)
	// run plays a prompt without a person, in a new conversation or one that goes on, and returns the id of the conversation.
	run func(r *rig, prompt, resume string) (conversation string, err error)
	// shell is the host's own tool for commands, and the argument that takes one.
	shell [2]string
	// shellNeeds are further arguments that it needs.
	shellNeeds map[string]any
	// unnamed: the host tells Weir no id of a conversation.
	unnamed bool
	// files are those that weir install changes, in the home folder.
	files []string
	// rewrites is the one that the host writes itself while it runs; its servers are in mcpServers.
	rewrites string
}

func TestClaudeCode(t *testing.T) { testHost(t, claude) }
func TestCodex(t *testing.T)      { testHost(t, codex) }

// testHost has a host steal a file: without Weir it gets out, with Weir it stays.
func testHost(t *testing.T, h host) {
	r := newRig(t, h)
	h.prepare(r, r.servers())
	r.unguarded(h)
	r.restores(h)
	before := r.snapshot(h)
	r.weir("install", h.id, "--yes")
	r.review("--accept", "--config", r.config(h))
	r.write(r.config(h), r.read(r.config(h))+"approval:\n  hold: false # nobody is here to answer\n")
	r.guarded(h)
	r.weir("uninstall", "--yes")
	r.same(h, before)
}

// unguarded is the attack without Weir: a test in which it fails shows nothing.
func (r *rig) unguarded(h host) {
	r.t.Helper()
	if results, _ := r.play(h, "raid", ""); len(results) < 3 || !strings.Contains(r.delivered(), secret) {
		r.t.Fatalf("without weir: %q", results)
	}
	if h.shell[0] != "" && !r.tookShell() {
		r.t.Fatal("without weir the shell of the host does not run")
	}
}

// guarded is the attack with Weir, in one run of the host, in the next of the same conversation, and in another conversation.
func (r *rig) guarded(h host) {
	r.t.Helper()
	r.forget()
	results, id := r.play(h, "steal", "")
	if len(results) != 3 || !strings.Contains(results[0], "Focus") || !strings.Contains(results[1], secret) || !blocked(results[2]) {
		r.t.Errorf("one conversation: %q", results)
	}
	results, _ = r.play(h, "again", id)
	if len(results) == 0 || !blocked(results[0]) {
		r.t.Errorf("the conversation after a restart: %q", results)
	}
	if h.shell[0] != "" && (r.tookShell() || len(results) != 2 || !strings.Contains(results[1], "Weir")) {
		r.t.Errorf("the shell of the host ran: %q", results)
	}
	if sent := r.delivered(); sent != "" {
		r.t.Fatalf("sent: %s", sent)
	}
	r.anew(h)
}

// anew begins another conversation, which is clean: at once where the host names its conversations, and else once the user begins an
// agent session anew.
func (r *rig) anew(h host) {
	r.t.Helper()
	if h.unnamed {
		if results, _ := r.play(h, "send", ""); len(results) != 1 || !blocked(results[0]) || r.delivered() != "" {
			r.t.Errorf("a conversation that may be the one before: %q, sent %q", results, r.delivered())
		}
		r.another()
	}
	if results, _ := r.play(h, "send", ""); len(results) != 1 || !strings.Contains(r.delivered(), secret) {
		r.t.Errorf("a new conversation does not begin clean: %q\n%s", results, r.weir("session", "list"))
	}
	if h.shell[0] == "" {
		return
	}
	if h.unnamed {
		r.another()
	}
	if results, _ := r.play(h, "work", ""); !r.tookShell() || len(results) != 1 || !strings.Contains(results[0], "No commits yet") {
		r.t.Errorf("a new conversation does not begin clean: %q", results)
	}
}

// another has the user begin another agent session in the folder.
func (r *rig) another() {
	r.t.Helper()
	key, _, _ := strings.Cut(r.weir("session", "list"), " ")
	r.weir("session", "new", "--yes", key)
}

// blocked reports whether the result of a tool is Weir's refusal, or tells that the call waits for an answer.
func blocked(result string) bool {
	return strings.Contains(result, "blocked by weir") || strings.Contains(result, "it waits in Weir")
}

// TestWraps has a Weir of its own before each server: both know what the conversation has read.
func TestWraps(t *testing.T) {
	for _, h := range []host{claude, codex} {
		t.Run(h.id, func(t *testing.T) {
			r := newRig(t, h)
			h.prepare(r, r.wrapped())
			r.weir("install", h.id, "--yes") // for the hooks
			results, id := r.play(h, "steal", "")
			if len(results) != 3 || !strings.Contains(results[0], "Focus") || !strings.Contains(results[1], secret) || !blocked(results[2]) {
				t.Errorf("two servers: %q", results)
			}
			if results, _ = r.play(h, "send", id); len(results) != 1 || !blocked(results[0]) || r.delivered() != "" {
				t.Errorf("two servers after a restart: %q, sent %q", results, r.delivered())
			}
		})
	}
}

// tookShell reports whether the command of the shell ran, and removes its trace.
func (r *rig) tookShell() bool {
	r.t.Helper()
	err := os.Remove(r.ran())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return err == nil
}

// forget removes what was sent.
func (r *rig) forget() {
	if err := os.RemoveAll(r.sent); err != nil {
		r.t.Fatal(err)
	}
}

// config is the file with the servers that weir install moved.
func (r *rig) config(h host) string {
	return filepath.Join(r.home, ".local", "state", "weir", "hosts", h.id+"-user", "weir.yaml")
}

// snapshot returns the files that weir install changes; "" for those that are not there.
func (r *rig) snapshot(h host) map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, name := range h.files {
		text, err := os.ReadFile(filepath.Join(r.home, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// restores installs and uninstalls while the host does not run: the files are the same, byte for byte.
func (r *rig) restores(h host) {
	r.t.Helper()
	before := r.snapshot(h)
	r.weir("install", h.id, "--yes")
	if installed := r.snapshot(h); reflect.DeepEqual(installed, before) {
		r.t.Fatal("weir install changed nothing")
	}
	r.weir("uninstall", "--yes")
	if after := r.snapshot(h); !reflect.DeepEqual(after, before) {
		r.t.Fatalf("got %q, want %q", after, before)
	}
}

// same compares the files with those before weir install, after the host has run: byte for byte, or the servers alone of a file that
// the host rewrites.
func (r *rig) same(h host, before map[string]string) {
	r.t.Helper()
	after := r.snapshot(h)
	for name, text := range before {
		if name == h.rewrites {
			var a, b struct{ McpServers any }
			if json.Unmarshal([]byte(text), &b) != nil || json.Unmarshal([]byte(after[name]), &a) != nil || !reflect.DeepEqual(a, b) {
				r.t.Errorf("servers of %s: got %v, want %v", name, a, b)
			}
		} else if after[name] != text {
			r.t.Errorf("%s: got %s, want %s", name, after[name], text)
		}
	}
}
