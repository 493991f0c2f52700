//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var soakRounds = flag.Int("soak", 0, "rounds of TestSoak: 24 are a short one; 200, of 1,000 agent sessions and 60 HTTP sessions each, one of half an hour")

// A soak of less than 100 rounds has to reach its limits before it measures, so these are low. It has so many HTTP
// sessions that a leak of them exceeds the growth of the store's caches, which fill with agent sessions for a while. A
// longer one has the defaults, and the pace at which HTTP sessions that are left open go to sleep while others come.
const longSoak, longPace = 100, 9 * time.Second

const shortSoak = "limits: {traces: 8MiB, sessions: 40}\n"

const (
	soakMost  = 300 << 20 // bytes of resident memory, at any time
	soakSlope = 16 << 10  // bytes that each HTTP session may leave behind, with the agent sessions beside it; a leaked one is 45 KiB
)

// A soaker is weir run over HTTP, in front of one server that runs in the test.
type soaker struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
}

func startSoaker(t *testing.T) *soaker {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("some words of a result; ", 40)}}}, nil, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(up.Close)
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	weir := filepath.Join(dir, "weir")
	config := fmt.Sprintf("version: 1\nrecord: none\nservers: {s: {url: %q, trust: known}}\n", up.URL)
	if *soakRounds < longSoak {
		config += shortSoak
	}
	if err := errors.Join(os.Symlink(exe, weir), os.WriteFile(filepath.Join(dir, "weir.yaml"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	address := freeAddress()
	s := &soaker{url: "http://" + address + "/mcp", client: &http.Client{Timeout: time.Minute}}
	s.cmd = &exec.Cmd{
		Path: weir, Args: []string{"weir", "run", "--log-level", "error", "--config", filepath.Join(dir, "weir.yaml"), "--listen", address},
		Dir: dir, Env: append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_DATA_HOME="+filepath.Join(dir, "data")), Stderr: t.Output(),
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait()
	})
	for range 600 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("weir does not listen")
	return nil
}

// memory returns a figure of /proc/PID/status in bytes.
func (s *soaker) memory(t *testing.T, name string) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), name+":")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// send makes a request with more headers, and returns the id of the session that it is in.
func (s *soaker) send(method, body string, header ...string) (string, error) {
	req, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode >= 300 || strings.Contains(string(answer), `"error"`)) {
		err = fmt.Errorf("%s %.60s: %s %.300s", method, body, resp.Status, answer)
	}
	return resp.Header.Get("Mcp-Session-Id"), err
}

// agent makes one call in an agent session of its own.
func (s *soaker) agent(n int) error {
	_, err := s.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","arguments":{},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{},"dev.weir/agent-session":"soak-%d"}}}`, n, n),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "look")
	return err
}

// host opens an HTTP session, makes a call and ends it, but for one of ten, which it leaves.
func (s *soaker) host(n int) error {
	id, err := s.send("POST", initialize)
	if err != nil {
		return err
	}
	if _, err := s.send("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look","arguments":{}}}`, "Mcp-Session-Id", id); err != nil {
		return err
	}
	if n%10 > 0 {
		_, err = s.send("DELETE", "", "Mcp-Session-Id", id)
	}
	return err
}

// all does something for each number of a round, eight at a time.
func all(n, first int, do func(int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for w := range errs {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				errs[w] = do(first + i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestSoak holds that the memory of a weir that serves one agent session after the other stays where it is.
func TestSoak(t *testing.T) {
	if *soakRounds == 0 {
		t.Skip("needs -soak")
	}
	s := startSoaker(t)
	agents, hosts := 250, 150
	if *soakRounds >= longSoak {
		agents, hosts = 1000, 60
	}
	var sizes []int64
	for round := range *soakRounds {
		began := time.Now()
		if err := errors.Join(all(agents, round*agents, s.agent), all(hosts, round*hosts, s.host)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		sizes = append(sizes, s.memory(t, "VmRSS"))
		if round%10 == 9 || round < 10 {
			t.Logf("round %d: %d MiB resident, %d threads, %s", round+1, sizes[round]>>20, s.memory(t, "Threads")>>10, time.Now().Format(time.TimeOnly))
		}
		if *soakRounds >= longSoak {
			time.Sleep(longPace - time.Since(began))
		}
	}
	if most := s.memory(t, "VmHWM"); most > soakMost {
		t.Errorf("%d MiB at most, more than %d", most>>20, soakMost>>20)
	}
	// The middle of the last quarter against that of the second: single figures go up and down with the collector.
	quarter := len(sizes) / 4
	if quarter < 4 {
		t.Fatalf("%d rounds are too few to tell a slope", len(sizes))
	}
	middle := func(some []int64) int64 {
		some = slices.Sorted(slices.Values(some))
		return some[len(some)/2]
	}
	end := len(sizes)
	rounds := 2 * quarter
	growth, most := middle(sizes[end-quarter:])-middle(sizes[quarter:rounds]), int64(rounds*hosts)*soakSlope
	t.Logf("%d bytes more in %d rounds", growth, rounds)
	if growth > most {
		t.Errorf("memory grew by %d bytes in %d rounds, more than %d", growth, rounds, most)
	}
}
