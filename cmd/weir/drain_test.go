//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patient is an MCP server with one tool, which makes the file "called" and answers when there is a file "go".
func patient() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		line := in.Text()
		_, id, _ := strings.Cut(line, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }
		switch {
		case strings.Contains(line, `"initialize"`):
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`)
		case strings.Contains(line, `"tools/list"`):
			answer(`{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}`)
		case strings.Contains(line, `"tools/call"`):
			_ = os.WriteFile("called", nil, 0o600)
			awaitFile("go")
			answer(`{"content":[{"type":"text","text":"late, but here"}]}`)
		}
	}
}

// awaitFile waits until a file is there, and gives up after a minute.
func awaitFile(name string) {
	for range 6000 {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

const waitCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{}}}` + "\n"

// TestSignalLosesNoAnswer stops the whole process group of weir in the middle of a call, as a terminal does: the servers do not
// hear of it, and the host gets its answer.
func TestSignalLosesNoAnswer(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"weir", "patient"} {
		if err := os.Symlink(exe, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, way := range []string{"stdio", "http"} {
			t.Run(fmt.Sprint(way, " ", signal), func(t *testing.T) {
				t.Parallel()
				data := t.TempDir()
				config := filepath.Join(data, "weir.yaml")
				if err := os.WriteFile(config, []byte("version: 1\nrecord: none\nservers: {p: {command: "+filepath.Join(bin, "patient")+", trust: known}}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := &exec.Cmd{
					Path: filepath.Join(bin, "weir"), Args: []string{"weir", "run", "--config", config}, Dir: data, Env: append(os.Environ(), "XDG_STATE_HOME="+data, "XDG_DATA_HOME="+data),
					Stderr: t.Output(), SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
				}
				call := callStdio
				if way == "http" {
					call = callHTTP
				}
				answer := call(t, cmd)
				awaitFile(filepath.Join(data, "called"))
				if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // an answer that would be lost is lost by then
				if err := os.WriteFile(filepath.Join(data, "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if got := <-answer; !strings.Contains(got, "late, but here") {
					t.Errorf("got %q", got)
				}
				if got := wait(cmd); got != "exit status 0" {
					t.Errorf("weir ended with %s", got)
				}
			})
		}
	}
}

// callStdio starts weir, calls the tool, and returns its answer.
func callStdio(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	out, hostReads, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = hostReads
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hostReads.Close()
	answer := make(chan string, 1)
	go func() {
		defer out.Close()
		io.WriteString(in, initialize+waitCall)
		all, _ := io.ReadAll(out)
		answer <- string(all)
	}()
	return answer
}

// callHTTP is callStdio over HTTP.
func callHTTP(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	address := freeAddress()
	cmd.Args = append(cmd.Args, "--listen", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		session := ""
		for end := time.Now().Add(patience); session == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // until it listens
			session = postTo(address, "", initialize, nil)
		}
		var body string
		postTo(address, session, waitCall, &body)
		answer <- body
	}()
	return answer
}

// postTo posts a message and returns the session that it is part of.
func postTo(address, session, message string, body *string) string {
	req, err := http.NewRequest(http.MethodPost, "http://"+address+"/mcp", strings.NewReader(message))
	if err != nil {
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if body != nil {
		*body = string(text)
	}
	return resp.Header.Get("Mcp-Session-Id")
}
