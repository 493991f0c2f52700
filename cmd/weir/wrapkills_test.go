//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/demo/servers"
)

// wrapsOwner returns the process that decides for the wraps, once there is one other than the one before.
func (w *wrapper) wrapsOwner(before int) int {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		dirs, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			w.t.Fatal(err)
		}
		for _, dir := range dirs {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // it may be gone
			environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
			if !strings.HasPrefix(string(line), "weir\x00serve\x00--wraps\x00") || !strings.Contains(string(environ), "HOME="+w.home+"\x00") {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != before {
				return pid
			}
		}
	}
	w.t.Fatal("no process decides for the wraps")
	return 0
}

// lostAnswer is in the answer to a request that was open when the process that decides was killed.
const lostAnswer = "this request may or may not have been carried out"

// serverAfter returns the process group of the server of a wrap, once it is another one than before.
func (s *wrapped) serverAfter(before int) int {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(s.data, "pid")) // it may be being written
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid != before {
			return pid
		}
	}
	s.t.Fatal("the server is not started again")
	return 0
}

// TestWrapsOwnerKilled kills the process that decides: the wraps go on with new processes of their servers, with all
// labels, and with no words of the user.
func TestWrapsOwnerKilled(t *testing.T) {
	w := newWrapper(t, wordsPolicy)
	files, mail := w.wrap("files", nil), w.wrap("mail", nil)
	if !mail.call("send_email", mailToBen, "tell Ben about the bridge") {
		t.Fatal("the mail was not sent")
	}
	started := map[*wrapped]int{files: files.server(), mail: mail.server()}
	if err := syscall.Kill(w.wrapsOwner(0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for s, before := range started {
		s.serverAfter(before)
		if !dead(before) {
			t.Error("the server is still there")
		}
	}
	if mail.call("send_email", mailToBen, "") {
		t.Error("a mail was sent with words that nobody remembers")
	}
	if !files.call("list_files", `{}`, "") || !mail.call("send_email", mailToBen, "tell Ben") {
		t.Error("the wraps do not go on")
	}
	if sent, err := servers.ReadOutbox(mail.data); err != nil || len(sent) != 2 {
		t.Errorf("%d mails were sent, %v", len(sent), err)
	}
}

// privatePolicy lets no mail go once the session holds private data.
const privatePolicy = `version: 1
default: allow
rules:
  - {name: private, when: call, effect: block, if: 'tool.name == "send_email" && session.private', message: the session holds private data}
`

// TestWrapsOwnerKilledKeepsLabels kills the process that decides before and after private data is read: the label of the
// session is as it was, at the other wrap too.
func TestWrapsOwnerKilledKeepsLabels(t *testing.T) {
	w := newWrapper(t, privatePolicy)
	files, mail := w.wrap("files", nil), w.wrap("mail", nil)
	owner, server := 0, mail.server()
	for _, private := range []bool{false, true} {
		if private && !files.call("list_files", `{}`, "") {
			t.Error("the files are not listed")
		}
		owner = w.wrapsOwner(owner)
		if err := syscall.Kill(owner, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		server = mail.serverAfter(server)
		if sent := mail.call("send_email", mailToBen, ""); sent == private {
			t.Errorf("private: %v, sent: %v", private, sent)
		}
	}
}

// message returns the next message that fits.
func (s *wrapped) message(fits func(id, method string) bool) string {
	s.t.Helper()
	for {
		line, err := s.out.ReadBytes('\n')
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err != nil || json.Unmarshal(line, &m) != nil {
			s.t.Fatalf("%q, %v", line, err)
		}
		if fits(string(m.ID), m.Method) {
			return string(line)
		}
	}
}

// say writes a line.
func (s *wrapped) say(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
}

// TestWrapsOwnerKilledWhileItAsks kills the process that decides while a user is asked: the question is withdrawn, and the
// answer that comes all the same approves nothing, neither the call that was open nor the same call of later. The answer to
// another question does.
func TestWrapsOwnerKilledWhileItAsks(t *testing.T) {
	w := newWrapper(t, grantPolicy)
	w.asked = true
	files := w.wrap("files", nil)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(files.data, name), []byte("hello "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	question := func(call, file string) (id string) {
		files.say(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"read_file","arguments":{"path":%q}}}`, call, file)
		text := files.message(func(_, method string) bool { return method == "elicitation/create" })
		var m struct{ ID string }
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	first := question("one", "a")
	if err := syscall.Kill(w.wrapsOwner(0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	text := files.message(func(_, method string) bool { return method == "notifications/cancelled" })
	if !strings.Contains(text, first) {
		t.Errorf("the question %s is not withdrawn: %s", first, text)
	}
	if text := files.message(func(id, _ string) bool { return id == `"one"` }); !strings.Contains(text, lostAnswer) {
		t.Errorf("the open call is answered with %s", text)
	}
	second, third := question("two", "a"), question("three", "b")
	if first == second || first == third {
		t.Errorf("two questions have the id %s", first)
	}
	time.Sleep(config.DefaultPace) // the person reads: an answer at once is none
	const accept = `{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"approve":true}}}`
	files.say(accept, first)
	files.say(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, second)
	if text := files.message(func(id, _ string) bool { return id == `"two"` }); strings.Contains(text, "hello a") {
		t.Errorf("the answer to a question of before counts: %s", text)
	}
	files.say(accept, third)
	if text := files.message(func(id, _ string) bool { return id == `"three"` }); !strings.Contains(text, "hello b") {
		t.Errorf("the answer to the question does not count: %s", text)
	}
}

// killsInARow is how many processes that decide may be killed before a wrap ends.
const killsInARow = 3

// far starts a wrap in front of a URL, at which a server counts the mails that it sends.
func (w *wrapper) far(sent *atomic.Int64) *wrapped {
	w.t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "send_email", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			sent.Add(1)
			return &mcp.CallToolResult{}, nil
		})
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	w.t.Cleanup(site.Close)
	s := &wrapped{t: w.t}
	w.start(s, nil, []string{w.weir, "wrap", "--policy", w.policy, "--trust", "trusted", "--name", "far", site.URL})
	return s
}

// TestWrapsOwnerKilledUnderLoad kills the process that decides at random moments while calls are made at three wraps, one
// of them in front of a URL: no mail goes that the user has said nothing for, each call has one answer, none is made up,
// and the wraps go on.
func TestWrapsOwnerKilledUnderLoad(t *testing.T) {
	w := newWrapper(t, wordsPolicy)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var answered, lost, farSent atomic.Int64
	for range (*ownerKills + killsInARow - 1) / killsInARow {
		files, mail, far := w.wrap("files", nil), w.wrap("mail", nil), w.far(&farSent)
		var killed atomic.Bool
		var working sync.WaitGroup
		for _, s := range []*wrapped{files, mail, far} {
			working.Go(func() {
				for again := true; again; {
					text, ok := s.ask("tools/call", `{"name":"send_email","arguments":`+mailToBen+`}`)
					answered.Add(1)
					last := killed.Load()
					switch {
					case !ok:
						t.Errorf("seed %d: the wrap has ended", seed)
						return
					case strings.Contains(text, lostAnswer):
						lost.Add(1)
					case s != files && !strings.Contains(text, "the user has said nothing"):
						t.Errorf("seed %d: the answer is %s", seed, text)
					default:
						again = !last
					}
				}
			})
		}
		owner := 0
		for range killsInARow {
			owner = w.wrapsOwner(owner)
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			if err := syscall.Kill(owner, syscall.SIGKILL); err != nil && err != syscall.ESRCH { // one that came too late to own anything
				t.Fatal(err)
			}
		}
		killed.Store(true)
		working.Wait()
		files.end()
		mail.end()
		far.end()
	}
	t.Logf("%d answers, %d of them lost", answered.Load(), lost.Load())
	if sent, err := servers.ReadOutbox(filepath.Join(w.home, "mail")); err != nil || len(sent) != 0 || farSent.Load() != 0 {
		t.Errorf("seed %d: %d mails were sent, %d by the server at the URL, %v", seed, len(sent), farSent.Load(), err)
	}
}
