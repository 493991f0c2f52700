//go:build unix

package hosts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A screen is a terminal in which a host runs before a person.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen runs a program in a terminal until the test ends.
func newScreen(r *rig, name string, args ...string) *screen {
	r.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		r.t.Fatal("there is no tmux: install the package tmux")
	}
	dir, err := os.MkdirTemp("", "weir-screen-") // the path of a socket has to be short
	if err != nil {
		r.t.Fatal(err)
	}
	s := &screen{t: r.t, socket: filepath.Join(dir, "s")}
	r.t.Cleanup(func() {
		s.tmux("kill-server")
		os.RemoveAll(dir)
		if err := leftovers(world.weir, world.modules); err != nil {
			r.t.Error(err)
		}
	})
	command := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "60", "-c", r.project, "env", "-i"}, r.environment()...)
	s.tmux(append(append(command, name), args...)...)
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// text returns what the person sees.
func (s *screen) text() string { return s.tmux("capture-pane", "-p") }

// waits waits until the person sees all of some texts.
func (s *screen) waits(texts ...string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		now, missing := s.text(), ""
		for _, text := range texts {
			if !strings.Contains(now, text) {
				missing = text
			}
		}
		switch {
		case missing == "":
			return
		case time.Now().After(deadline):
			s.t.Fatalf("%q does not come up on the screen:\n%s", missing, now)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// gone waits until the person sees a text no more.
func (s *screen) gone(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); strings.Contains(s.text(), text); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%q stays on the screen:\n%s", text, s.text())
		}
	}
}

// types writes a line and sends it.
func (s *screen) types(line string) {
	s.t.Helper()
	s.tmux("send-keys", "-l", line)
	s.waits(line)
	s.keys("Enter")
}

// keys presses keys.
func (s *screen) keys(names ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, names...)...)
}

// TestScreen has a person before Claude Code: the approval request comes up there, Enter alone approves nothing, and what the person
// approves happens. The shell of the host is asked about too, until a conversation begins with /clear.
func TestScreen(t *testing.T) {
	r := newRig(t, claude)
	claude.prepare(r, r.servers())
	r.weir("install", claude.id, "--yes")
	r.review("--accept", "--config", r.config(claude))
	s := newScreen(r, claudeProgram(r), "--allowedTools", claudeTools)
	s.waits("? for shortcuts")

	text, run := r.prompt("steal")
	s.types(text)
	s.waits("mallory@evil.example", "Approve", "Accept")
	s.keys("Enter")
	s.waits("❯ Accept")
	s.keys("Enter")
	s.waits("This field is required")
	if sent := r.delivered(); sent != "" {
		t.Fatalf("sent without a choice: %s", sent)
	}
	time.Sleep(time.Second) // an answer within approval.pace is nobody's
	s.keys("Space")
	s.waits("✔ Approve")
	s.keys("Enter")
	s.waits("❯ Accept")
	s.keys("Enter")
	s.waits(final)
	if sent := r.delivered(); !strings.Contains(sent, secret) {
		t.Fatalf("sent after an approval: %q; %q", sent, r.model.of(run))
	}

	text, _ = r.prompt("shell")
	s.types(text)
	s.waits("Weir asks", "❯ 1. Yes")
	s.keys("Escape")
	s.gone("❯ 1. Yes")
	if r.tookShell() {
		t.Fatal("the shell of the host ran, and the person has said no")
	}
	s.types("/clear")
	s.gone("steal-1")
	s.keys("C-u") // it may leave its command in the line
	text, run = r.prompt("shell")
	s.types(text)
	s.waits(final)
	if !r.tookShell() {
		t.Errorf("the conversation after /clear does not begin clean: %q", r.model.of(run))
	}
}
