package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A soak is `weir run` on stdio over faulty servers, and the test is its host.
type soak struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	record string        // its file
	log    string        // where the servers write down their calls
	ended  chan struct{} // closed when the program has ended
}

// startSoak starts the program. It is killed when the test ends; nothing of it may be left then.
func startSoak(t *testing.T, servers int, stderr io.Writer) *soak {
	t.Helper()
	s := &soak{t: t, record: filepath.Join(t.TempDir(), "record.jsonl"), ended: make(chan struct{})}
	config, log := soakConfig(t, servers)
	s.log = log
	to := run(t, config, "--policy", openPolicy(t), "--record", s.record)
	s.cmd = exec.Command(to.Command, to.Args...)
	s.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for k, v := range to.Env {
		s.cmd.Env = append(s.cmd.Env, k+"="+v)
	}
	s.cmd.Stderr, s.cmd.WaitDelay = stderr, 5*time.Second
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out, s.cmd.Stdout = in, bufio.NewReaderSize(out, 1<<20), theirs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		out.Close()
		if err := leftovers(filepath.Dir(log)); err != nil {
			t.Error(err)
		}
	})
	s.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	s.answers("hello")
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// soakConfig configures faulty servers: f0 with the tool f0, and so on. Their command lines and environment mention the
// directory of the log.
func soakConfig(t *testing.T, servers int) (config, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "calls")
	all := map[string]target{}
	for i := range servers {
		name := fmt.Sprint("f", i)
		all[name] = faultyServer(name, log)
	}
	for name, to := range all {
		to.Args = append(to.Args, filepath.Dir(log)) // so that leftovers finds it
		all[name] = to
	}
	return configure(t, all), log
}

func (s *soak) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// call asks server number i to do something.
func (s *soak) call(id string, i int, arguments string) {
	s.t.Helper()
	s.send(toolCall(id, i, arguments))
}

func toolCall(id string, i int, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"f%d","arguments":%s}}`, id, i, arguments)
}

// answers reads until each of these requests has its answer. Anything else is passed over.
func (s *soak) answers(ids ...string) map[string]message {
	s.t.Helper()
	left, got := map[string]bool{}, map[string]message{}
	for _, id := range ids {
		left[id] = true
	}
	for len(left) > 0 {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("%v; %d answers are missing", err, len(left))
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			s.t.Fatalf("%v in %.200s", err, line)
		}
		if id, _ := m.ID.(string); left[id] && m.Method == "" {
			delete(left, id)
			got[id] = m
		}
	}
	return got
}

// done fails the test unless the answer is a result of that text.
func (s *soak) done(m message, text string) {
	s.t.Helper()
	if m.refused() || m.text() != text {
		s.t.Fatalf("answered %.300v, want %.100q", m, text)
	}
}

// ends waits for the program to end by itself.
func (s *soak) ends() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("weir still runs after %v", patience)
	}
}

// open counts the program's open files.
func (s *soak) open() int {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.cmd.Process.Pid))
	return len(names)
}

// A decided is the record's entry for the arguments of an allowed call.
type decided struct {
	salt   []byte
	digest string
}

// decided returns the record's entries for all allowed calls. Every line must be whole.
func (s *soak) decided() (all []decided) {
	s.t.Helper()
	data, err := os.ReadFile(s.record)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var e struct {
			Kind, Phase, Effect, Arguments string
			Content                        struct{ Salt string }
		}
		if err := json.Unmarshal(line, &e); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			s.t.Fatalf("the record holds %q: %v", line, err)
		}
		if e.Kind == "decision" && e.Phase == "call" && e.Effect == "allow" {
			salt, err := hex.DecodeString(e.Content.Salt)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, decided{salt, e.Arguments})
		}
	}
	return all
}

// of reports whether this is about a call with these canonical params.
func (d decided) of(params string) bool {
	sum := sha256.Sum256(append(d.salt[:len(d.salt):len(d.salt)], params...))
	return d.digest == "sha256:"+hex.EncodeToString(sum[:])
}

// checkRecord wants a decision for each call that a server has seen, and returns how many that are.
func (s *soak) checkRecord() (calls int) {
	s.t.Helper()
	seen, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	left := s.decided()
	var missing []string
	for line := range strings.Lines(string(seen)) {
		tool, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		params := `{"arguments":` + arguments + `,"name":"` + tool + `"}` // in the canonical order
		i := slices.IndexFunc(left, func(d decided) bool { return d.of(params) })
		if i < 0 {
			missing = append(missing, tool+arguments)
		} else {
			left = slices.Delete(left, i, i+1)
		}
		calls++
	}
	if len(missing) > 0 {
		s.t.Errorf("%d of %d calls that reached a server have no decision in the record, the first is %s", len(missing), calls, missing[0])
	}
	return calls
}

// reached returns how many calls the servers have written down.
func (s *soak) reached() int {
	s.t.Helper()
	log, err := os.ReadFile(s.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return bytes.Count(log, []byte("\n"))
}

// alive tells whether a process runs.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestWeirIsKilled ends the program by SIGKILL in the middle of calls.
func TestWeirIsKilled(t *testing.T) {
	needEnabled(t)
	s := startSoak(t, 3, io.Discard)
	var pids []string
	for i := range 3 {
		id := fmt.Sprint("start ", i)
		s.call(id, i, `{"do":"start a process"}`)
		pids = append(pids, s.answers(id)[id].text())
	}
	go io.Copy(io.Discard, s.out)
	go func() {
		for i := range 1 << 20 {
			call := toolCall(fmt.Sprint(i), i%3, fmt.Sprintf(`{"do":"","n":%d}`, i))
			if _, err := io.WriteString(s.in, call+"\n"); err != nil {
				return
			}
		}
	}()
	for deadline := time.Now().Add(patience); s.reached() < 200 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ends()
	if err := leftovers(filepath.Dir(s.log)); err != nil {
		t.Error(err)
	}
	if n := s.checkRecord(); n < 100 {
		t.Errorf("only %d calls reached the servers", n)
	}
	for deadline := time.Now().Add(patience); len(pids) > 0; time.Sleep(50 * time.Millisecond) {
		if !alive(pids[0]) {
			pids = pids[1:]
		} else if time.Now().After(deadline) {
			t.Errorf("process %s, which a server started, is still there", pids[0])
			pid, _ := strconv.Atoi(pids[0])
			_ = syscall.Kill(pid, syscall.SIGKILL)
			pids = pids[1:]
		}
	}
}

// TestNobodyReadsStandardError has a server write 100 MB there, and a host that reads none of it.
func TestNobodyReadsStandardError(t *testing.T) {
	needEnabled(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := startSoak(t, 2, w)
	s.call("flood", 0, `{"do":"flood standard error","n":102400}`)
	s.call("other", 1, `{}`)
	got := s.answers("flood", "other")
	s.done(got["flood"], "done")
	s.done(got["other"], "done")
	s.in.Close()
	s.ends()
}

// TestServerFloodsNotifications has a server send 100,000 of them.
func TestServerFloodsNotifications(t *testing.T) {
	needEnabled(t)
	s := startSoak(t, 2, io.Discard)
	s.call("flood", 0, `{"do":"flood notifications","n":100000}`)
	s.call("other", 1, `{}`)
	got := s.answers("flood", "other")
	s.done(got["flood"], "done")
	s.done(got["other"], "done")
}

// TestHostNeverReads has a host that asks for much and reads nothing, until it leaves or tells the program to stop.
func TestHostNeverReads(t *testing.T) {
	needEnabled(t)
	for _, how := range []string{"leaves", "signals"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := startSoak(t, 1, io.Discard)
			for i := range 500 {
				s.call(fmt.Sprint(i), 0, `{"do":"write much","n":20000}`)
			}
			time.Sleep(500 * time.Millisecond)
			if how == "leaves" {
				s.in.Close()
			} else if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.ends()
		})
	}
}

// TestTwoHundredServers starts them, calls each and stops.
func TestTwoHundredServers(t *testing.T) {
	needEnabled(t)
	s := startSoak(t, 200, io.Discard)
	list := func() int {
		s.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
		return len(tools(t, s.answers("list")["list"]))
	}
	n := list()
	for deadline := time.Now().Add(patience); n != 200 && time.Now().Before(deadline); n = list() {
		time.Sleep(time.Second) // on a busy machine some begin after the host has been answered
	}
	if n != 200 {
		t.Errorf("%d tools, want 200", n)
	}
	var ids []string
	for i := range 200 {
		ids = append(ids, fmt.Sprint(i))
		s.call(ids[i], i, fmt.Sprintf(`{"n":%d}`, i))
	}
	for _, m := range s.answers(ids...) {
		s.done(m, "done")
	}
	if n := s.checkRecord(); n != 200 {
		t.Errorf("%d calls reached the servers, want 200", n)
	}
	s.in.Close()
	s.ends()
}

// TestThousandAtOnce has a thousand calls in flight at one time.
func TestThousandAtOnce(t *testing.T) {
	needEnabled(t)
	t.Run("stdio", func(t *testing.T) {
		s := startSoak(t, 2, io.Discard)
		s.call("first", 0, `{}`)
		s.answers("first")
		open := s.open()
		var ids []string
		for i := range 1000 {
			ids = append(ids, fmt.Sprint(i))
			s.call(ids[i], i%2, fmt.Sprintf(`{"n":%d}`, i))
		}
		for _, m := range s.answers(ids...) {
			s.done(m, "done")
		}
		if n := s.checkRecord(); n != 1001 {
			t.Errorf("%d calls reached the servers, want 1001", n)
		}
		const kept = 64 // connections to the state, at most, which are few beside the calls
		if now := s.open(); now > open+kept {
			t.Errorf("%d files are open, were %d", now, open)
		}
	})
	t.Run("HTTP", func(t *testing.T) {
		config, _ := soakConfig(t, 2)
		to := listen(t, config, "--policy", openPolicy(t))
		client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		errs := make([]error, 1000)
		for i := range errs {
			wg.Go(func() { errs[i] = post(client, to.URL, i) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%.2000v", err)
		}
	})
}

// post makes one call of revision 2026-07-28.
func post(client *http.Client, url string, i int) error {
	name := fmt.Sprint("f", i%2)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, i, name, i)
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && !(strings.Contains(string(answer), `"text":"done"`) && strings.Contains(string(answer), fmt.Sprintf(`"id":%d,`, i))) {
		err = fmt.Errorf("call %d: %s: %s", i, resp.Status, answer)
	}
	return err
}

// TestTenThousandCalls makes them one after the other in one agent session. The last thousand may not take much longer
// than the first; the margin is wide, since other programs use the same machine.
func TestTenThousandCalls(t *testing.T) {
	needEnabled(t)
	s := startSoak(t, 1, io.Discard)
	thousand := func() time.Duration {
		began := time.Now()
		for range 1000 {
			s.call("x", 0, `{}`)
			s.done(s.answers("x")["x"], "done")
		}
		return time.Since(began)
	}
	thousand() // to warm up
	first, open := thousand(), s.open()
	for range 7 {
		thousand()
	}
	if last := thousand(); last > 3*first {
		t.Errorf("a thousand calls took %v at first and %v after nine thousand", first, last)
	}
	const kept = 8 // files of connections to the state that were opened late, which are few beside the calls
	if now := s.open(); now > open+kept {
		t.Errorf("%d files are open, were %d", now, open)
	}
	if n := s.checkRecord(); n != 10000 {
		t.Errorf("%d calls reached the server, want 10000", n)
	}
}
