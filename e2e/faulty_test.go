package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// faultyLog names the environment variable that makes this test's program a faulty server: the file where it writes down
// its calls, as "tool arguments" lines.
const faultyLog = "WEIR_E2E_FAULTY"

// faultyServer returns how to start a faulty server. It has one tool, of the given name.
func faultyServer(name, log string) target {
	return target{Command: os.Args[0], Args: []string{name}, Env: map[string]string{faultyLog: log, "GORACE": "atexit_sleep_ms=0"}}
}

// serveFaulty serves on standard input and output until that ends. The tool's argument "do" says how to behave, "n" how
// often.
func serveFaulty(log string) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
			Params struct{ Arguments json.RawMessage }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"faulty","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"` + os.Args[1] + `","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			fmt.Fprintf(f, "%s %s\n", os.Args[1], m.Params.Arguments)
			if result, err = misbehave(m.Params.Arguments); err != nil {
				return err
			}
		}
		if m.ID != nil && result != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}
}

// misbehave follows the arguments and returns the call's result; none if there is to be no answer.
func misbehave(arguments json.RawMessage) (string, error) {
	var a struct {
		Do string
		N  int
	}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", err
	}
	text := "done"
	switch a.Do {
	case "never answer":
		return "", nil
	case "write much":
		text = strings.Repeat("x", a.N)
	case "start a process":
		// Sleeps even after its parent has ended, and reads nothing.
		sleep := exec.Command("sleep", "600")
		if err := sleep.Start(); err != nil {
			return "", err
		}
		text = fmt.Sprint(sleep.Process.Pid)
	case "flood standard error":
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for range a.N {
			if _, err := os.Stderr.Write(line); err != nil {
				return "", err
			}
		}
	case "flood notifications":
		for i := range a.N {
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i)
		}
	case "sleep":
		time.Sleep(time.Duration(a.N) * time.Millisecond)
	}
	return `{"content":[{"type":"text","text":"` + text + `"}]}`, nil
}
