package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// hup is "hup": it sends SIGHUP to every command in the background.
func hup(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGHUP))
	}
}

// until is "until URL FILE REGEXP": it sends the file as one request of 2026-07-28, again and again until the body of the
// answer matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	body := ts.ReadFile(args[1])
	want := regexp.MustCompile(args[2])
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(30 * time.Millisecond) {
		if last = request(ts, args[0], body); want.MatchString(last) {
			return
		}
	}
	ts.Fatalf("never matched %s; the last answer: %s", want, last)
}

// request sends a request of 2026-07-28 and returns the body of the answer, or the error.
func request(ts *testscript.TestScript, url, body string) string {
	var m struct {
		Method string
		Params struct{ Name string }
	}
	ts.Check(json.Unmarshal([]byte(body), &m))
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	ts.Check(err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return string(answer)
}

// eventually is "eventually REGEXP COMMAND ARGUMENT…": it runs the command again and again until its output matches.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("never matched %s", want)
}
