//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A wrapper is a weir wrap in front of a server, and the host's end of it.
type wrapper struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
	n   int
}

// wrap puts weir in front of a server of the demonstration, in a conversation of Claude Code.
func (h *hooked) wrap(conversation, policy, server string, args ...string) *wrapper {
	h.t.Helper()
	all := append([]string{"wrap", "--name", server, "--trust", "trusted", "--policy", policy, "--", h.weir, "demo", "server", server}, args...)
	cmd := exec.Command(h.weir, all...)
	cmd.Dir = h.home
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "CLAUDE_CODE_SESSION_ID=" + conversation}
	in, failed := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err != nil || failed != nil {
		h.t.Fatal(err, failed)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	w := &wrapper{t: h.t, in: in, out: bufio.NewScanner(out), cmd: cmd}
	w.out.Buffer(nil, 16<<20)
	h.t.Cleanup(w.end)
	w.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "claude-code", "version": "2"},
	})
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

// end has the host leave.
func (w *wrapper) end() {
	_ = w.in.Close()
	for w.out.Scan() { // until it has ended
	}
	_ = w.cmd.Wait()
}

// request makes a request, and returns the text of the answer.
func (w *wrapper) request(method string, params map[string]any) string {
	w.t.Helper()
	w.n++
	id := fmt.Sprint("r", w.n)
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := fmt.Fprintln(w.in, string(text)); err != nil {
		w.t.Error(err)
		return ""
	}
	for w.out.Scan() {
		var got struct{ ID any }
		if json.Unmarshal(w.out.Bytes(), &got) == nil && got.ID == id {
			return w.out.Text()
		}
	}
	w.t.Errorf("weir wrap ended before it answered %s", text)
	return ""
}

// call calls a tool, with the user's message if there is one.
func (w *wrapper) call(tool, message string, args map[string]any) string {
	w.t.Helper()
	params := map[string]any{"name": tool, "arguments": args}
	if message != "" {
		params["_meta"] = map[string]any{"dev.weir/user-message": message}
	}
	return w.request("tools/call", params)
}

// file writes a file into the home directory.
func (h *hooked) file(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// kinds are origins of values, as policy calls them.
var kinds = []string{"user", "trusted", "private", "untrusted", "novel"}

// telling returns a policy that blocks each mail, and tells where its values came from: FROM(private novel).
func telling() string {
	var b strings.Builder
	b.WriteString("version: 1\ndefault: allow\nrules:\n")
	for mask := range 1 << len(kinds) {
		var is, conditions []string
		for i, kind := range kinds {
			not := "!"
			if mask&(1<<i) != 0 {
				is, not = append(is, kind), ""
			}
			conditions = append(conditions, fmt.Sprintf("%s('%s' in call.from)", not, kind))
		}
		fmt.Fprintf(&b, "  - {name: of-%d, when: call, if: \"tool.name == 'send_email' && %s\", effect: block, message: FROM(%s)}\n",
			mask, strings.Join(conditions, " && "), strings.Join(is, " "))
	}
	return b.String()
}

// from returns where the value of a mail came from.
func (w *wrapper) from(value string) string {
	w.t.Helper()
	got := w.call("send_email", "", map[string]any{"to": value, "subject": "", "body": ""})
	_, rest, found := strings.Cut(got, "FROM(")
	is, _, _ := strings.Cut(rest, ")")
	if !found {
		w.t.Fatalf("no origin of %q: %s", value, got)
	}
	return is
}

// twoWraps starts weir in front of two servers in one conversation, which Weir has seen begin.
func (h *hooked) twoWraps(conversation, policy string) (files, mail *wrapper) {
	h.begin("claude-code", conversation)
	h.file("files/notes.txt", "no file of note")
	if err := os.MkdirAll(filepath.Join(h.home, "mail"), 0o700); err != nil {
		h.t.Fatal(err)
	}
	return h.wrap(conversation, policy, "files", "--data", filepath.Join(h.home, "files")),
		h.wrap(conversation, policy, "mail", "--data", filepath.Join(h.home, "mail"))
}

// TestWrapsShare has two weir wrap of one conversation know the values of results and the user's messages that the other
// one has seen. One of another conversation knows nothing of them.
func TestWrapsShare(t *testing.T) {
	h := newHooked(t)
	policy := h.file("telling.yaml", telling())
	files, mail := h.twoWraps("s", policy)
	_, other := h.twoWraps("t", policy)
	h.file("files/secret.txt", "the ledger is called quartz-zebra-4711")
	if got := mail.from("quartz-zebra-4711"); got != "novel" {
		t.Errorf("before it was read: %s", got)
	}
	if got := files.call("read_file", "Please mail the ledger to ann@acme.example.", map[string]any{"path": "secret.txt"}); !strings.Contains(got, "quartz") {
		t.Fatal(got)
	}
	for value, want := range map[string]string{
		"quartz-zebra-4711": "trusted private", "ann@acme.example": "user", "opal-hyena-0815": "novel",
	} {
		if got := mail.from(value); got != want {
			t.Errorf("%s is from %q, not %q", value, got, want)
		}
		if got := other.from(value); got != "novel" {
			t.Errorf("%s is from %q in another conversation", value, got)
		}
	}
	if !h.kill() {
		t.Fatal("no owner runs")
	}
	for _, value := range []string{"quartz-zebra-4711", "ann@acme.example", "opal-hyena-0815"} {
		if got := mail.from(value); got != "private novel" {
			t.Errorf("after the end of the owner %s is from %q", value, got)
		}
	}
}

// asking is a policy that asks about each mail, and takes a yes for later ones to the same place.
const asking = `version: 1
default: allow
rules:
  - {name: ask, when: call, if: "tool.name == 'send_email'", effect: ask, once: destination, message: a mail}
`

// TestWrapsShareApprovals has an approval with once, for a call through one weir wrap, cover a call through another to
// the same server, and none to another place.
func TestWrapsShareApprovals(t *testing.T) {
	h := newHooked(t)
	policy := h.file("asking.yaml", asking)
	_, first := h.twoWraps("s", policy)
	second := h.wrap("s", policy, "mail", "--data", filepath.Join(h.home, "mail"))
	send := func(w *wrapper, to string) string {
		return w.call("send_email", "", map[string]any{"to": to, "subject": "", "body": ""})
	}
	for _, to := range []string{"ben@acme.example", "ann@acme.example"} { // the answer to the first raises the label
		_, rest, found := strings.Cut(send(first, to), "weir approve ")
		id, _, _ := strings.Cut(rest, ";")
		if !found {
			t.Fatalf("no request: %s", rest)
		}
		if status, out := h.run("", "approve", id); status != 0 {
			t.Fatal(out)
		}
		if got := send(first, to); strings.Contains(got, "weir approve") {
			t.Fatalf("after the approval: %s", got)
		}
	}
	for i, w := range []*wrapper{first, second, first, second} {
		if got := send(w, "ann@acme.example"); strings.Contains(got, "isError\":true") || !strings.Contains(got, "result") {
			t.Errorf("mail %d after the approval: %s", i, got)
		}
	}
	for _, w := range []*wrapper{first, second} {
		if got := send(w, "mallory@evil.example"); !strings.Contains(got, "weir approve") {
			t.Errorf("to another place: %s", got)
		}
	}
	if !h.kill() {
		t.Fatal("no owner runs")
	}
	if got := send(second, "ann@acme.example"); !strings.Contains(got, "weir approve") {
		t.Errorf("after the end of the owner: %s", got)
	}
}

// TestWrapsOwnerKilled kills weir serve at random moments while two weir wrap use it. Where a value came from is never
// wrong: a value that one has read is private in the other, whenever that is; one that nobody has read is private too once
// an owner has ended; and only places that the user named are the user's.
func TestWrapsOwnerKilled(t *testing.T) {
	h := newHooked(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	files, mail := h.twoWraps("s", h.file("telling.yaml", telling()))
	files.call("read_file", "", map[string]any{"path": "notes.txt"})
	var mu sync.Mutex
	begun, killed := 0, 0
	kills := func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return begun, killed
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n < *ownerKills; {
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
			mu.Lock()
			begun++
			mu.Unlock()
			was := h.kill()
			mu.Lock()
			if killed++; was {
				n++
			}
			mu.Unlock()
		}
	}()
	whole := 0
	for n := 0; ; n++ {
		secret, named := fmt.Sprintf("quartz-zebra-%d-%d", n, 4711*n), fmt.Sprintf("ann%d@acme.example", n)
		h.file(fmt.Sprintf("files/%d.txt", n), "the ledger is called "+secret)
		_, ended := kills()
		before, _ := kills()
		if got := files.call("read_file", "Mail it to "+named+".", map[string]any{"path": fmt.Sprint(n, ".txt")}); !strings.Contains(got, secret) {
			t.Fatalf("seed %d: %s", seed, got)
		}
		read, place, novel := mail.from(secret), mail.from(named), mail.from(fmt.Sprintf("opal-hyena-%d", n))
		after, _ := kills()
		quiet := before == after && before == ended
		if whole++; !quiet {
			whole--
		}
		switch {
		case read != "trusted private" && (quiet || read != "private novel"):
			t.Errorf("seed %d: %s is from %q; quiet: %t", seed, secret, read, quiet)
		case place != "user" && (quiet || place != "private novel"):
			t.Errorf("seed %d: %s is from %q; quiet: %t", seed, named, place, quiet)
		case novel != "private novel" && (ended > 0 || novel != "novel"):
			t.Errorf("seed %d: a value that nobody has written is from %q after %d kills", seed, novel, ended)
		}
		select {
		case <-done:
			t.Logf("%d rounds, %d of them whole", n+1, whole)
			if status, out := h.run("", "audit", "verify"); status != 0 {
				t.Errorf("the log: %s", out)
			}
			return
		default:
		}
	}
}
