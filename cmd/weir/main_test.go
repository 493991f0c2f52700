package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-mcp/weir/internal/owner"
)

// readme is the project's front page; scripts run in directories of their own.
var (
	readme, _   = filepath.Abs("../../README.md")
	testdata, _ = filepath.Abs("testdata")
)

var update = flag.Bool("update", false, "write the expected output into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": main, "browser": browser, "patient": patient})
}

// TestScripts runs testdata/*.txtar: one script a feature of the command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_DATA_HOME", env.WorkDir+"/data")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir+"/runtime")
			owned := &owner.Client{Dir: env.WorkDir + "/state/weir/owner"}
			env.Defer(func() {
				if _, err := owned.Retire(context.Background()); err != nil {
					panic(err)
				}
			})
			env.Setenv("TESTDATA", testdata)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command built with -race takes a second to exit
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"freeport": freePort,
			"oauth":    startOAuth,
			"post":     post,
			"browse":   browse,
			"status":   status,
			"mode":     mode,
			"term":     term,
			"hup":      hup,
			"hook":     hook,
			"fetch":    fetch,
			"until":    until,
			"sql":      runSQL,

			"eventually": eventually,
			"readme":     inReadme,
			"recorded":   asRecorded,
			"events":     sameEvents,
		},
	})
}

// sameEvents is "events FILE": it checks that the lines on standard output are those of the file, but for the calls of sessions that a store
// adds to them.
func sameEvents(ts *testscript.TestScript, _ bool, args []string) {
	calls := regexp.MustCompile(`,"calls":\d+}\n`)
	if stdout := ts.ReadFile("stdout"); calls.ReplaceAllString(stdout, "}\n") != ts.ReadFile(args[0]) || !calls.MatchString(stdout) {
		ts.Fatalf("%s has other events, or none tells of calls:\n%s", args[0], stdout)
	}
}

// patience is how long something may take on a slow machine that has to come soon.
const patience = time.Minute

// freePort is "freeport VAR": it sets the variable to a port of the loopback address on which nothing listens.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	_, port, err := net.SplitHostPort(freeAddress())
	ts.Check(err)
	ts.Setenv(args[0], port)
}

var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32()) }

// freeAddress returns an address of the loopback interface at which nothing listens. Its port is none of those that the
// system gives to connections and to listeners that name none, and each is returned once: so nobody takes it before weir does.
func freeAddress() string {
	for {
		address := fmt.Sprint("127.0.0.1:", 10_000+lastPort.Add(1)%20_000)
		if l, err := net.Listen("tcp", address); err == nil && l.Close() == nil {
			return address
		}
	}
}

// status is "status CODE COMMAND ARGUMENT…": like exec, for a command that must end with the given status.
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.String()[len("exit status "):]
	} else {
		ts.Check(err)
	}
	if code != args[0] {
		ts.Fatalf("exit status %s, want %s", code, args[0])
	}
}

// post is "post URL FILE [TOKENFILE]": it sends the file as one JSON-RPC message, with the bearer token in the other file,
// and prints status and body. It waits for the server to listen.
func post(ts *testscript.TestScript, _ bool, args []string) {
	body := ts.ReadFile(args[1])
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequest(http.MethodPost, args[0], strings.NewReader(body))
		ts.Check(err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if len(args) > 2 {
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		ts.Check(err)
		answer, err := io.ReadAll(resp.Body)
		ts.Check(err)
		ts.Check(resp.Body.Close())
		_, err = ts.Stdout().Write(bytes.Join([][]byte{[]byte(resp.Status), answer, nil}, []byte("\n")))
		ts.Check(err)
		return
	}
}

// mode is "mode FILE BITS": it checks the permissions of a file, -rw-------.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := info.Mode().String(); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// term is "term": it sends SIGTERM to every command in the background.
func term(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
