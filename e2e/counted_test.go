package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// countedLog names the environment variable that makes this test's program a server whose effects can be counted: the file
// where it writes them down.
const countedLog = "WEIR_E2E_COUNTED"

// urnSeen begins the URI by which a result of that server says which call it came from. The call's id follows.
const urnSeen = "urn:seen:"

// countedTools are its tools: append and pay have an effect, look has none.
const countedTools = `{"tools":[` +
	`{"name":"append","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"openWorldHint":false,` +
	`"inputMetadata":{"destination":"internal","outcomes":"consequential","sensitivity":"none"}}},` +
	`{"name":"pay","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"openWorldHint":false,` +
	`"inputMetadata":{"destination":"internal","outcomes":"consequential","sensitivity":"none"}}},` +
	`{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false,` +
	`"inputMetadata":{"destination":"system","outcomes":"benign","sensitivity":"none"}}}]}`

// A countedCall is the arguments of its tools, in the canonical order of their names.
type countedCall struct {
	ID     string `json:"id"`
	Secret bool   `json:"secret,omitempty"` // whether the result holds credentials
	Unseen bool   `json:"unseen,omitempty"` // whether the result says nothing of where it came from
}

// serveCounted serves on standard input and output until that ends. An effect is on disk before its call is answered.
func serveCounted(log string) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY|os.O_SYNC, 0o600)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments countedCall
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counted","version":"1"}}`
		case "tools/list":
			result = countedTools
		case "tools/call":
			if m.Params.Name != "look" {
				if _, err := fmt.Fprintf(f, "%s\n", m.Params.Arguments.ID); err != nil {
					return err
				}
			}
			result = m.Params.Arguments.result()
		}
		if m.ID != nil && result != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}
}

func (c countedCall) result() string {
	annotations := ""
	if !c.Unseen {
		annotations = `"attribution":["` + urnSeen + c.ID + `"]`
	}
	if c.Secret {
		annotations += `,"returnMetadata":{"sensitivity":"credentials"}`
	}
	return `{"content":[{"type":"text","text":"done"}],"_meta":{"annotations":{` + annotations + `}}}`
}

// counted is a configuration with that server, and the paths of its files.
type counted struct {
	dir     string // on the command line of every process
	config  string
	effects string
	env     []string // of every weir: all of them share a state directory
	store   string   // the place of the state, for --store; empty: the file in that directory
}

// newCounted configures the server, under the rules of a policy in YAML.
func newCounted(t *testing.T, rules string) *counted {
	t.Helper()
	dir := t.TempDir()
	c := &counted{dir: dir, config: filepath.Join(dir, "weir.yaml"), effects: filepath.Join(dir, "effects")}
	t.Cleanup(func() {
		if said, err := os.ReadFile(filepath.Join(dir, "stderr")); t.Failed() && err == nil {
			t.Logf("standard error ends with: %s", said[max(0, len(said)-2000):])
		}
	})
	c.env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for name, value := range homeless(t) {
		c.env = append(c.env, name+"="+value)
	}
	server := object{
		"command": os.Args[0], "args": []string{dir}, "trust": "trusted",
		"env": object{countedLog: c.effects, "GORACE": "atexit_sleep_ms=0"},
	}
	config, err := json.Marshal(object{"version": 1, "servers": object{"s": server}, "policy": "policy.yaml",
		"capture": object{"fields": object{"*": []string{"/arguments/id"}}}}) // the ids tie events to calls
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{c.config: string(config), filepath.Join(dir, "policy.yaml"): "version: 1\ndefault: allow\nrules: " + rules} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// command is weir with these arguments, on the shared state.
func (c *counted) command(args ...string) *exec.Cmd {
	if c.store != "" {
		args = append(args, "--store", c.store)
	}
	cmd := exec.Command(world.weir, args...)
	cmd.Env = append(slices.Clip(c.env), "WEIR_SCRIPTED_APPROVAL=1")
	return cmd
}

// output runs weir to its end and returns its output.
func (c *counted) output(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := c.command(args...)
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit, ok := err.(*exec.ExitError); ok {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("weir %s: %v\n%s\n%s", args[0], err, out, stderr)
	}
	return out
}

// A member is a `weir run` on stdio over that configuration.
type member struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	ended chan struct{} // closed when the program has ended
}

// start starts one. Its standard error goes to a file in the directory.
func (c *counted) start(t *testing.T) *member {
	t.Helper()
	return c.startUnder(t)
}

// startUnder starts one as the last arguments of another program, if any.
func (c *counted) startUnder(t *testing.T, program ...string) *member {
	t.Helper()
	m := &member{cmd: c.command("run", "--config", c.config), ended: make(chan struct{})}
	if len(program) > 0 {
		m.cmd.Args = append(program, m.cmd.Args...)
		m.cmd.Path = program[0]
	}
	stderr, err := os.OpenFile(filepath.Join(c.dir, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	m.out, m.cmd.Stdout, m.cmd.Stderr = out, theirs, stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait()
		close(m.ended)
	}()
	t.Cleanup(func() {
		m.kill()
		out.Close()
	})
	return m
}

// kill ends the program by SIGKILL. Its remaining output is still read.
func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	<-m.ended
}

// end ends the program in an orderly way.
func (m *member) end(t *testing.T) {
	t.Helper()
	m.in.Close()
	select {
	case <-m.ended:
	case <-time.After(patience):
		t.Error("weir still runs; its goroutines are on standard error")
		_ = m.cmd.Process.Signal(syscall.SIGQUIT)
		<-m.ended
	}
}

// handshake sends the first messages of a host. The answer has the id "hello".
const handshake = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"h","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// read hands each answer on until the program has closed its output.
func (m *member) read(t *testing.T, hand func(id string, answer message)) {
	out := bufio.NewReaderSize(m.out, 1<<16)
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return // a part of a line from a killed program is no answer
		}
		var a message
		if err := json.Unmarshal(line, &a); err != nil {
			t.Errorf("%v in %.300q", err, line)
			return
		}
		if id, _ := a.ID.(string); id != "" && a.Method == "" {
			hand(id, a)
		}
	}
}

// gone waits until no process of the configuration is left, and so nothing more happens.
func (c *counted) gone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(processes(c.dir)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes left behind: %v", processes(c.dir))
		}
	}
}
