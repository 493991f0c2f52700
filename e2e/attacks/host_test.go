package attacks

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds the wait for one answer.
const patience = 60 * time.Second

// args is short for a JSON object in Go source.
type args = map[string]any

// A server is one of the servers behind Weir: a scripted one, or a command.
type server struct {
	name      string
	trust     string // untrusted if empty
	catalogue string // the built-in overlay that applies; none if empty
	script    script
	command   []string // instead of the script
	env       map[string]string
	cwd       string
}

// A setup is one run of Weir.
type setup struct {
	servers  []server
	policy   string            // a profile or a file; balanced if empty
	config   string            // further members of weir.yaml
	overlay  string            // an overlay of the operator's own
	files    map[string]string // files beside weir.yaml, by name
	pins     string            // pins.mode; off if empty: definitions of untrusted servers always count as unreviewed then
	env      []string
	protocol string // of the host; 2025-11-25 if empty
	client   string // the name of the host; attacker if empty
}

// A host is a scripted host on the standard input and output of `weir run`.
type host struct {
	t    *testing.T
	dir  string // holds weir.yaml
	name string // as it calls itself
	logs map[string]string

	weir   *exec.Cmd
	in     io.WriteCloser
	stderr *strings.Builder

	mu      sync.Mutex
	answers map[string]chan answer
	asked   []string // texts of approval requests and other elicitations
	heard   []string // notifications
	yes     func(message string) bool
	lastID  int
}

// An answer is Weir's answer to a request.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	raw string
}

// start runs Weir over the servers and performs the host's handshake and first listing.
func start(t *testing.T, s setup) *host {
	t.Helper()
	h := prepare(t, s)
	h.initialize(s.protocol)
	h.request("tools/list", nil)
	return h
}

// prepare runs Weir over the servers.
func prepare(t *testing.T, s setup) *host {
	t.Helper()
	needEnabled(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, dir: dir, name: cmp.Or(s.client, "attacker"), logs: map[string]string{}, answers: map[string]chan answer{}, stderr: &strings.Builder{}}
	h.write("weir.yaml", h.yaml(s))
	for name, content := range s.files {
		h.write(name, content)
	}
	h.run(s.env)
	return h
}

// run starts `weir run` in the host's folder. A host may run it again once it has ended.
func (h *host) run(env []string, flags ...string) {
	h.t.Helper()
	h.weir = exec.Command(weir, append([]string{"run", "--config", filepath.Join(h.dir, "weir.yaml")}, flags...)...)
	h.weir.Dir = h.dir
	h.weir.Env = append(os.Environ(), "HOME="+filepath.Join(h.dir, "home"), "XDG_STATE_HOME="+filepath.Join(h.dir, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(h.dir, "config"), "XDG_DATA_HOME="+filepath.Join(h.dir, "data"), "XDG_RUNTIME_DIR=")
	h.weir.Env = append(h.weir.Env, env...)
	h.weir.Stderr = &locked{b: h.stderr, mu: &h.mu}
	var err error
	if h.in, err = h.weir.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	out, err := h.weir.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.weir.Start(); err != nil {
		h.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		h.read(out)
	}()
	h.t.Cleanup(func() {
		h.in.Close()
		<-read
		h.weir.Wait()
		if h.t.Failed() && h.stderr.Len() > 0 {
			h.t.Logf("weir wrote:\n%s", h.stderr)
		}
	})
}

// stop ends Weir, so that it can be run again.
func (h *host) stop() {
	h.t.Helper()
	h.in.Close()
	h.weir.Wait()
}

// A locked is a text that several goroutines write and read.
type locked struct {
	b  *strings.Builder
	mu *sync.Mutex
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (h *host) write(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// yaml writes the configuration, and the scripts of its servers.
func (h *host) yaml(s setup) string {
	h.t.Helper()
	pins, policy := s.pins, s.policy
	if pins == "" {
		pins = "off"
	}
	if policy == "" {
		policy = "balanced"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\npolicy: %s\npins: {mode: '%s'}\napproval: {pace: %s}\n%s\n", policy, pins, pace, s.config)
	if s.overlay != "" {
		h.write("overlay.yaml", s.overlay)
		b.WriteString("overlays: [overlay.yaml]\n")
	}
	b.WriteString("servers:\n")
	for _, v := range s.servers {
		command, env := v.command, map[string]string{}
		for k, value := range v.env {
			env[k] = value
		}
		if command == nil {
			v.script.Log = filepath.Join(h.dir, v.name+".log")
			h.logs[v.name] = v.script.Log
			command = []string{must(os.Executable())}
			env[scriptVariable] = h.write(v.name+".json", string(must(json.Marshal(v.script))))
		}
		entry := args{"command": command[0], "args": command[1:], "env": env, "trust": v.trust, "catalogue": v.catalogue}
		if v.trust == "" {
			entry["trust"] = "untrusted"
		}
		if v.catalogue == "" {
			entry["catalogue"] = false
		}
		if v.cwd != "" {
			entry["cwd"] = v.cwd
		}
		fmt.Fprintf(&b, "  %s: %s\n", v.name, must(json.Marshal(entry)))
	}
	return b.String()
}

// Answers of hosts count after pace; a person here takes readingTime to read a request.
const (
	pace        = 20 * time.Millisecond
	readingTime = 50 * time.Millisecond
)

// read reads Weir's messages: answers, notifications, and requests, of which elicitations are declined unless yes
// agrees.
func (h *host) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Message string `json:"message"`
			} `json:"params"`
			answer
		}
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		switch {
		case m.Method == "" && m.ID != nil:
			m.answer.raw = line
			h.mu.Lock()
			waiting := h.answers[string(m.ID)]
			delete(h.answers, string(m.ID))
			h.mu.Unlock()
			if waiting != nil {
				waiting <- m.answer
			}
		case m.ID == nil:
			h.mu.Lock()
			h.heard = append(h.heard, line)
			h.mu.Unlock()
		case m.Method == "elicitation/create":
			h.mu.Lock()
			h.asked = append(h.asked, m.Params.Message)
			agrees := h.yes
			h.mu.Unlock()
			reply := `{"action":"decline"}`
			if agrees != nil && agrees(m.Params.Message) {
				reply = `{"action":"accept","content":{"approve":true}}`
			}
			time.AfterFunc(readingTime, func() { fmt.Fprintf(h.in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, reply) })
		default:
			fmt.Fprintf(h.in, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`+"\n", m.ID)
		}
	}
}

// initialize performs the handshake.
func (h *host) initialize(protocol string) answer {
	h.t.Helper()
	if protocol == "" {
		protocol = "2025-11-25"
	}
	a := h.request("initialize", args{
		"protocolVersion": protocol, "capabilities": args{"elicitation": args{}},
		"clientInfo": args{"name": h.name, "version": "1"},
	})
	h.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

// line sends one line as it is.
func (h *host) line(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatalf("writing to weir: %v", err)
	}
}

// request sends a request and returns its answer.
func (h *host) request(method string, params any) answer {
	h.t.Helper()
	if params == nil {
		params = args{}
	}
	return h.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"method":%q,"params":%s}`, method, must(json.Marshal(params))))
}

// raw sends a request that is written out, with $ID for its id, and returns its answer.
func (h *host) raw(line string) answer {
	h.t.Helper()
	h.mu.Lock()
	h.lastID++
	id := strconv.Itoa(h.lastID)
	waiting := make(chan answer, 1)
	h.answers[id] = waiting
	h.mu.Unlock()
	h.line(strings.ReplaceAll(line, "$ID", id))
	select {
	case a := <-waiting:
		return a
	case <-time.After(patience):
		h.t.Fatalf("no answer to %.300s", line)
		return answer{}
	}
}

// call calls a tool.
func (h *host) call(tool string, arguments args) answer {
	h.t.Helper()
	return h.request("tools/call", args{"name": tool, "arguments": arguments})
}

// callIn calls a tool in an agent session of its own, and sends the user's message there.
func (h *host) callIn(session, words, tool string, arguments args) answer {
	h.t.Helper()
	meta := args{"dev.weir/agent-session": session}
	if words != "" {
		meta["dev.weir/user-message"] = words
	}
	return h.request("tools/call", args{"name": tool, "arguments": arguments, "_meta": meta})
}

// callSaying calls a tool in the connection's own agent session, and sends the user's message.
func (h *host) callSaying(words, tool string, arguments args) answer {
	h.t.Helper()
	return h.request("tools/call", args{"name": tool, "arguments": arguments, "_meta": args{"dev.weir/user-message": words}})
}

// calls returns how many calls of tools reached a scripted server.
func (h *host) calls(server string) int {
	h.t.Helper()
	n := 0
	for _, line := range h.received(server) {
		if strings.Contains(line, `"method":"tools/call"`) {
			n++
		}
	}
	return n
}

// last returns the text of the last approval request.
func (h *host) last() string {
	if all := h.questions(); len(all) > 0 {
		return all[len(all)-1]
	}
	return "nobody was asked"
}

// questions returns the texts of the approval requests so far.
func (h *host) questions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.asked...)
}

// received returns the lines that a scripted server has received.
func (h *host) received(server string) []string {
	h.t.Helper()
	data, err := os.ReadFile(h.logs[server])
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// reached reports whether a line that holds all of the texts reached a scripted server.
func (h *host) reached(server string, texts ...string) bool {
	h.t.Helper()
	for _, line := range h.received(server) {
		all := true
		for _, want := range texts {
			all = all && strings.Contains(line, want)
		}
		if all {
			return true
		}
	}
	return false
}

// held fails the test if a line with all of the texts reached the server: the attack is through.
func (h *host) held(server string, texts ...string) {
	h.t.Helper()
	if h.reached(server, texts...) {
		h.t.Errorf("through: %q reached %s without an approval\nasked: %q", texts, server, h.questions())
	}
}

// went fails the test if no line with all of the texts reached the server: harmless work was stopped.
func (h *host) went(server string, texts ...string) {
	h.t.Helper()
	if !h.reached(server, texts...) {
		h.t.Errorf("stopped: %q did not reach %s\nasked: %q", texts, server, h.questions())
	}
}

// refused reports whether the call did not do its work.
func (a answer) refused() bool {
	return a.Error != nil || strings.Contains(string(a.Result), `"isError":true`)
}

// agree has the person at the host accept the elicitations that yes agrees to.
func (h *host) agree(yes func(message string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.yes = yes
}

// quote returns a text as a JSON string.
func quote(s string) string { return string(must(json.Marshal(s))) }

// each makes one call of each piece.
func each(pieces []string, call func(i int, piece string) args) (all []args) {
	for i, p := range pieces {
		all = append(all, call(i, p))
	}
	return all
}
