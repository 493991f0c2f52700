//go:build unix

package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// times returns n times the reason.
func times(n int, reason string) []string { return slices.Repeat([]string{reason}, n) }

// A text that was cut between the halves of a surrogate pair does not cost the answer of a call that has happened.
func TestHalfPair(t *testing.T) {
	w := new(watcher)
	conn := dial(t, child(t, "hostile"), "2025-11-25", w)
	m, err := conn.Call(t.Context(), "surrogate", nil)
	if err != nil || string(m.Result) != `{"a":"\ufffd"}` {
		t.Errorf("message %v, error %v", m, err)
	}
	if diff := cmp.Diff(times(1, upstream.HalfPair), w.reasons()); diff != "" {
		t.Error(diff)
	}
}

// An answer that is no message, or two messages at once, is an error of the call that waits for it, and only of that.
func TestBadAnswers(t *testing.T) {
	for _, method := range []string{"huge", "deep", "utf8", "duplicate", "both"} {
		t.Run(method, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, child(t, "hostile"), "2025-11-25", w)
			m, err := conn.Call(t.Context(), method, nil)
			var e *rpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("message %v, error %.200v", m, err)
			}
			if len(err.Error()) > 2000 {
				t.Errorf("text of the error has %d bytes", len(err.Error()))
			}
			if got := call(t, conn, "echo", `{"a":1}`); got != `{"a":1}` {
				t.Errorf("then got %s", got)
			}
			if diff := cmp.Diff(times(1, upstream.Malformed), w.reasons()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Some misdeeds leave the call that saw them unharmed.
func TestDefects(t *testing.T) {
	for _, test := range []struct {
		method, result string
		defects        []string
	}{
		{"garbage", `{}`, times(5, upstream.Malformed)},
		{"twice", `{"n":1}`, times(1, upstream.SecondAnswer)},
		{"unknown", `{"n":1}`, times(8, upstream.UnknownAnswer)},
		{"cancel", `{}`, times(1, upstream.RepeatedID)},
		{"flood", `{}`, times(200-64, upstream.TooManyAtOnce)},
	} {
		t.Run(test.method, func(t *testing.T) {
			ended := make(chan struct{}, 200)
			w := &watcher{answer: func(ctx context.Context, m *rpc.Message) *rpc.Message {
				<-ctx.Done()
				ended <- struct{}{}
				return rpc.Reply(m.ID, nil)
			}}
			conn := dial(t, child(t, "hostile"), "2025-11-25", w)
			if got := call(t, conn, test.method, ""); got != test.result {
				t.Errorf("got %s", got)
			}
			call(t, conn, "echo", `{}`) // all that the first call caused has come by then
			if diff := cmp.Diff(test.defects, w.reasons()); diff != "" {
				t.Error(diff)
			}
			if test.method == "cancel" {
				<-ended
			}
		})
	}
}

// The server's own requests get their own ids back, and bad ones are refused.
func TestServerAsks(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer *rpc.Message
		want   string
	}{
		{"result", &rpc.Message{ID: json.RawMessage("99"), Result: json.RawMessage(`{"b": 2}`)}, `"result":{"b": 2}`},
		{"error", rpc.ReplyError(nil, rpc.Errorf(-1, "no")), `"error":{"code":-1,"message":"no"}`},
		{"nothing", nil, `"error":{"code":-32603,"message":"no answer"}`},
		{"a request", rpc.NewRequest(json.RawMessage("1"), "m", nil), `"error":{"code":-32603,"message":"no answer"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &watcher{answer: func(context.Context, *rpc.Message) *rpc.Message { return test.answer }}
			conn := dial(t, child(t, "hostile"), "2025-11-25", w)
			var got []string
			if err := json.Unmarshal([]byte(call(t, conn, "ask", "")), &got); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !strings.HasPrefix(got[2], `{"jsonrpc":"2.0","id":4,"error":{"code":-32700,`) {
				t.Errorf("the bad request got %s", got[2])
			}
			want := []string{`{"jsonrpc":"2.0","id":"é\u0061",` + test.want + `}`, `{"jsonrpc":"2.0","id":-3,"result":{}}`}
			if diff := cmp.Diff(want, got[:2]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A server that dies takes its calls along and says why.
func TestDeath(t *testing.T) {
	for _, test := range []struct {
		method, reason string
		defects        []string
	}{
		{"die", "exit status 3", nil},
		{"half", "exit status 0", times(1, upstream.Malformed)},
	} {
		t.Run(test.method, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, child(t, "hostile"), "2025-11-25", w)
			waiting := make(chan error)
			go func() {
				_, err := conn.Call(t.Context(), "never", nil)
				waiting <- err
			}()
			for i, err := range []error{second(conn.Call(t.Context(), test.method, nil)), <-waiting, conn.Err(),
				second(conn.Call(t.Context(), "echo", nil)), conn.Notify(t.Context(), "notifications/n", nil)} {
				// The half of an answer belongs to the first.
				if !errors.Is(err, upstream.ErrClosed) && (i > 0 || !errors.As(err, new(*rpc.BadMessage))) {
					t.Errorf("%d got %v", i, err)
				}
			}
			<-conn.Done()
			if err := conn.Err(); !strings.Contains(err.Error(), test.reason) {
				t.Errorf("reason is %v", err)
			}
			if diff := cmp.Diff(test.defects, w.reasons()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func second(_ *rpc.Message, err error) error { return err }

// A late answer to a call that was given up is forgiven, once.
func TestLateAnswer(t *testing.T) {
	w := new(watcher)
	conn := dial(t, child(t, "hostile"), "2025-11-25", w)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Call(ctx, "late", nil); err != context.DeadlineExceeded {
		t.Fatalf("got %v", err)
	}
	call(t, conn, "echo", `{}`)
	if defects := w.reasons(); len(defects) > 0 {
		t.Errorf("defects %q", defects)
	}
}

// A server that does not read holds nobody up.
func TestDeafServer(t *testing.T) {
	conn := dial(t, child(t, "hostile"), "2025-11-25", new(watcher))
	large, _ := json.Marshal(map[string]string{"a": strings.Repeat("x", 1<<20)})
	for _, method := range []string{"deaf", "echo", "echo"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := conn.Call(ctx, method, large); err != context.DeadlineExceeded {
			t.Errorf("%s: %v", method, err)
		}
		cancel()
	}
}

// Close ends what does not want to end.
func TestClose(t *testing.T) {
	for _, kind := range []string{"stubborn", "grandchild", "escaped"} {
		t.Run(kind, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, child(t, kind), "2025-11-25", w)
			call(t, conn, "echo", `{}`)
			began := time.Now()
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("took %v", took)
			}
			if !errors.Is(conn.Err(), upstream.ErrClosed) {
				t.Errorf("error is %v", conn.Err())
			}
			if kind != "stubborn" {
				checkSleeper(t, w, kind)
			}
		})
	}
}

// A server that dies by itself is cleaned up without Close, group and all.
func TestDeathWithGrandchild(t *testing.T) {
	w := new(watcher)
	conn := dial(t, child(t, "grandchild"), "2025-11-25", w)
	call(t, conn, "echo", `{}`)
	_, _ = conn.Call(t.Context(), "die", nil)
	<-conn.Done()
	checkSleeper(t, w, "grandchild")
}

// checkSleeper checks that the server's own child has ended, if it stayed in the server's group.
func checkSleeper(t *testing.T, w *watcher, kind string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notifications) != 1 {
		t.Fatalf("%d notifications", len(w.notifications))
	}
	var params struct{ PID int }
	if err := json.Unmarshal(w.notifications[0].Params, &params); err != nil {
		t.Fatal(err)
	}
	if kind == "escaped" {
		if err := syscall.Kill(params.PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		return
	}
	eventually(t, "the end of the server's child", func() bool { return !running(params.PID) })
}

// Old servers may do anything but answer when they are asked for something before the handshake.
func TestHandshakeFallback(t *testing.T) {
	for _, kind := range []string{"quitter", "mute", "hostile"} {
		t.Run(kind, func(t *testing.T) {
			checkLeaks(t)
			opts := options(new(watcher))
			opts.Probe = 500 * time.Millisecond
			conn, err := upstream.Dial(t.Context(), child(t, kind), upstream.Hello{}, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if conn.Protocol() != "2025-11-25" || string(conn.Welcome()) != `{ "protocolVersion":"2025-11-25", "x" : 1.0}` {
				t.Errorf("speaks %s, welcome %s", conn.Protocol(), conn.Welcome())
			}
		})
	}
}

func TestDialErrors(t *testing.T) {
	sleeper := child(t, "sleeper")
	for _, test := range []struct {
		name  string
		spec  upstream.Spec
		hello upstream.Hello
		want  string
	}{
		{"nothing", upstream.Spec{}, upstream.Hello{}, "neither a command nor"},
		{"both", upstream.Spec{Command: []string{"x"}, URL: "http://127.0.0.1"}, upstream.Hello{}, "both a command and a URL"},
		{"scheme", upstream.Spec{URL: "file:///etc/passwd"}, upstream.Hello{}, "neither a command nor"},
		{"no program", upstream.Spec{Command: []string{"/no/such/program"}}, upstream.Hello{}, "/no/such/program"},
		{"no listener", upstream.Spec{URL: "http://127.0.0.1:1/"}, upstream.Hello{}, "refused"},
		{"no listener for SSE", upstream.Spec{URL: "http://127.0.0.1:1/", SSE: true}, upstream.Hello{}, "refused"},
		{"no answer", sleeper, upstream.Hello{}, "deadline exceeded"},
		{"unknown revision", sleeper, upstream.Hello{Protocol: "2025-01-01"}, "2025-01-01"},
		{"bad client info", sleeper, upstream.Hello{ClientInfo: json.RawMessage(`{"a":1,"a":2}`)}, "duplicate"},
		{"capabilities", sleeper, upstream.Hello{Capabilities: json.RawMessage(`[]`)}, "not an object"},
		{"no MCP", upstream.Spec{Command: []string{"/bin/true"}}, upstream.Hello{}, "exit status 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkLeaks(t)
			within := patience
			if test.want == "deadline exceeded" {
				within = 500 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			conn, err := upstream.Dial(ctx, test.spec, test.hello, options(new(watcher)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("connection %v, error %v", conn, err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// A child gets the environment that it is given, and no other.
func TestEnvironment(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "secret")
	checkLeaks(t)
	spec := upstream.Spec{Command: []string{"/bin/sh", "-c", `printf '{"jsonrpc":"2.0","method":"notifications/env","params":{"env":"%s"}}\n' "$(env | sort | tr '\n' ' ')"; cat`}}
	spec.Env, spec.Dir = []string{"B=3"}, os.TempDir()
	w := new(watcher)
	opts := options(w)
	opts.BaseEnv, opts.Probe = []string{"A=1", "B=2", "PATH=/bin:/usr/bin"}, time.Second
	if conn, err := upstream.Dial(t.Context(), spec, upstream.Hello{Protocol: "2025-11-25"}, opts); err == nil {
		t.Fatal("cat is no server", conn)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notifications) == 0 {
		t.Fatal("no notification")
	}
	raw, _ := rawjson.Get(w.notifications[0].Params, "env")
	env, _ := rawjson.String(raw)
	if strings.Contains(env, "SECRET") || !strings.Contains(env, "A=1 ") || !strings.Contains(env, "B=3 ") || !strings.Contains(env, fmt.Sprintf("PWD=%s ", os.TempDir())) {
		t.Errorf("environment is %s", env)
	}
}
