package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds one run of a client, servers and Weir included.
const patience = 90 * time.Second

// A target is the server of a client: a command that speaks stdio, or a URL. Its JSON form is the `transport` of a job
// in node/drive.mjs.
type target struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	SSE     bool              `json:"sse,omitempty"`
}

// A step is one request that the client sends.
type step struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// object is short for a JSON object in Go source.
type object = map[string]any

func call(tool string, arguments object) step {
	return step{Method: "tools/call", Params: object{"name": tool, "arguments": arguments}}
}

// A reply answers one elicitation. Fill asks the driver to make up content that fits the form.
type reply struct {
	Action  string `json:"action"`
	Content object `json:"content,omitempty"`
	Fill    bool   `json:"fill,omitempty"`
}

// A job is the input of node/drive.mjs; see there.
type job struct {
	SDK          string  `json:"sdk"`
	Era          string  `json:"era,omitempty"`
	Transport    target  `json:"transport"`
	Capabilities object  `json:"capabilities,omitempty"`
	Answers      []reply `json:"answers,omitempty"`
	Steps        []step  `json:"steps"`
}

// A message is a JSON-RPC message as the client's transport delivered it.
type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params object `json:"params"`
	Result object `json:"result"`
	Error  object `json:"error"`
}

// A report is the output of node/drive.mjs; see there.
type report struct {
	Protocol     string `json:"protocol"`
	Server       object `json:"server"`
	Instructions string `json:"instructions"`
	Capabilities object `json:"capabilities"`
	Steps        []struct {
		Wire  []message `json:"wire"`
		Fault string    `json:"fault"`
	} `json:"steps"`
	Asked    []object  `json:"asked"`
	Notified []message `json:"notified"`

	stderr string // the output of the driver, Weir and the servers
}

// answer returns the last response to step i: the one that ended it.
func (r *report) answer(t *testing.T, i int) message {
	t.Helper()
	if i >= len(r.Steps) {
		t.Fatalf("step %d was not reached", i)
	}
	wire := r.Steps[i].Wire
	if len(wire) == 0 {
		t.Fatalf("step %d got no response: %s", i, r.Steps[i].Fault)
	}
	return wire[len(wire)-1]
}

// text joins the text blocks of a tool's result, or gives the error's message.
func (m message) text() string {
	if m.Error != nil {
		s, _ := m.Error["message"].(string)
		return s
	}
	blocks, _ := m.Result["content"].([]any)
	var texts []string
	for _, b := range blocks {
		if block, ok := b.(object); ok {
			if s, ok := block["text"].(string); ok {
				texts = append(texts, s)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// refused tells whether a call did not do its work: a JSON-RPC error or a tool error.
func (m message) refused() bool {
	return m.Error != nil || m.Result["isError"] == true
}

// node returns a target that runs a script of Node.js.
func node(script string, args ...string) target {
	return target{Command: "node", Args: append([]string{script}, args...)}
}

// reference returns the command of one of the protocol's reference servers.
func reference(name string, args ...string) target {
	return node(filepath.Join(world.modules, "server-"+name, "dist", "index.js"), args...)
}

// wrapped puts `weir wrap` in front of a command.
func wrapped(t *testing.T, server target, flags ...string) target {
	t.Helper()
	args := append([]string{"wrap", "--no-catalogue"}, flags...) // the messages are compared, not the overlays
	args = append(args, "--", server.Command)
	env := homeless(t)
	for k, v := range server.Env {
		env[k] = v
	}
	return target{Command: world.weir, Args: append(args, server.Args...), Env: env}
}

// homeless points every place where a program may keep files of its own at a directory of this test.
func homeless(t *testing.T) map[string]string {
	t.Helper()
	home := t.TempDir()
	return map[string]string{
		"HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "XDG_DATA_HOME": home,
	}
}

// drive runs a job to its end.
func drive(t *testing.T, j job) *report {
	t.Helper()
	in, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	out, stderr := runTool(t, filepath.Join(world.scripts, "drive.mjs"), world.scripts, in)
	r := &report{stderr: stderr}
	decode(t, out, r)
	if len(r.Steps) != len(j.Steps) {
		t.Fatalf("%d of %d steps ran\n%s", len(r.Steps), len(j.Steps), stderr)
	}
	return r
}

// runTool runs a script of Node.js in its own process group, in dir, and returns its standard output and error.
// A non-zero exit status fails the test.
func runTool(t *testing.T, script, dir string, stdin []byte, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = os.Environ()
	for k, v := range homeless(t) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\nstdout: %.2000s\nstderr: %s", filepath.Base(script), err, out.String(), errs.String())
	}
	if strings.Contains(errs.String(), "DATA RACE") {
		t.Fatalf("data race:\n%s", errs.String())
	}
	return out.Bytes(), errs.String()
}

// decode reads JSON and keeps numbers as their text.
func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v in %.500s", err, data)
	}
}

var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32()) }

// freePort returns a port of the loopback address that nobody listens on. It is none of those that the system gives to connections
// and to listeners that name none, and each is returned once: so nobody takes it before a server does.
func freePort() string {
	for {
		port := fmt.Sprint(10_000 + lastPort.Add(1)%20_000)
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil && l.Close() == nil {
			return port
		}
	}
}

// serve starts a command that listens on a loopback port, waits until it does, and stops it when the test ends.
func serve(t *testing.T, server target, port string) {
	t.Helper()
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Dir = world.scripts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = os.Environ()
	for k, v := range homeless(t) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	for k, v := range server.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { stop(t, cmd, ended, &output) })
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second); err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended before it listened: %v\n%s", server.Command, err, output.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen on port %s", server.Command, port)
}

// stop asks a server to end, as a service manager would, and fails the test if it has to be killed.
func stop(t *testing.T, cmd *exec.Cmd, ended chan error, output *bytes.Buffer) {
	err := syscall.Kill(cmd.Process.Pid, syscall.SIGTERM)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("stopping %s: %v", cmd.Path, err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the test fails already
		<-ended
		t.Errorf("%s did not end on SIGTERM", cmd.Path)
	}
	if t.Failed() || strings.Contains(output.String(), "DATA RACE") {
		t.Errorf("%s wrote:\n%s", cmd.Path, output.String())
	}
}
