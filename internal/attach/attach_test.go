//go:build linux

package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/upstream"
)

// owned returns a client of an owner that has wraps served by a function.
func owned(t *testing.T, serve func(context.Context, *net.UnixConn)) *owner.Client {
	t.Helper()
	c, end := serving(t, serve)
	t.Cleanup(end)
	return c
}

// serving is owned until end is called.
func serving(t *testing.T, serve func(context.Context, *net.UnixConn)) (c *owner.Client, end func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "a") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c = &owner.Client{Dir: filepath.Join(dir, "o")}
	ended := make(chan error, 1)
	c.Start = func() (<-chan struct{}, error) {
		go func() {
			ended <- owner.Serve(ctx, owner.Options{Dir: c.Dir, Attached: func(ctx context.Context, conn *net.UnixConn, _ json.RawMessage) { serve(ctx, conn) }})
		}()
		return make(chan struct{}), nil
	}
	return c, func() {
		stop()
		if err := errors.Join(<-ended, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	}
}

// A host is the host's ends of the streams of a wrap.
type host struct {
	in  *os.File
	out *bufio.Reader
}

// wrapOf returns a wrap of a server, and the host that it has, until shut is called.
func wrapOf(t *testing.T, start func() (*upstream.LocalChild, error)) (w Wrap, h host, shut func()) {
	t.Helper()
	var all [4]*os.File
	var err error
	for i := 0; i < 4; i += 2 {
		if all[i], all[i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	streams := func() (io.ReadCloser, io.Writer) { return all[0], all[3] }
	w = Wrap{Host: streams, Stderr: os.Stderr, Start: start, Log: slog.New(slog.DiscardHandler)}
	return w, host{all[1], bufio.NewReader(all[2])}, func() {
		for _, f := range all {
			_ = f.Close() // some are closed already
		}
	}
}

// cat starts a server that repeats its input.
func cat() (*upstream.LocalChild, error) {
	return upstream.StartChild(upstream.Spec{Command: []string{"cat"}}, nil, nil, slog.New(slog.DiscardHandler))
}

// lingering starts a server that takes a moment to end.
func lingering() (*upstream.LocalChild, error) {
	script := "trap 'sleep 0.02; exit' TERM; while :; do sleep 0.01; done"
	return upstream.StartChild(upstream.Spec{Command: []string{"sh", "-c", script}}, nil, nil, slog.New(slog.DiscardHandler))
}

func hasEnded(child *upstream.LocalChild) bool {
	select {
	case <-child.Ended():
		return true
	default:
		return false
	}
}

// open returns how many descriptors this process has.
func open(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestRun has an owner copy a line from the host through the server and back, and end with a status of its choice.
func TestRun(t *testing.T) {
	c := owned(t, func(ctx context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		err = g.Serve(ctx, func(context.Context) int {
			child, err := g.Start()
			if err != nil {
				t.Error(err)
				return 1
			}
			stdin, stdout := child.Streams()
			line, _ := bufio.NewReader(g.Stdin).ReadString('\n')
			if _, err := io.WriteString(stdin, line); err != nil {
				t.Error(err)
			}
			line, _ = bufio.NewReader(stdout).ReadString('\n')
			if _, err := io.WriteString(g.Stdout, line); err != nil {
				t.Error(err)
			}
			if err := errors.Join(stdin.Close(), stdout.Close()); err != nil {
				t.Error(err)
			}
			<-child.Ended()
			return 7
		})
		if err != nil {
			t.Error(err)
		}
	})
	w, h, shut := wrapOf(t, cat)
	defer shut()
	if _, err := io.WriteString(h.in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	status, err := Run(t.Context(), c, json.RawMessage(`{}`), w)
	if line, _ := h.out.ReadString('\n'); status != 7 || err != nil || line != "hello\n" {
		t.Errorf("status %d, %v, %q", status, err, line)
	}
}

// TestOwnerFails has every owner fail at a step: before the wrap has said "go" it goes on alone, with its streams as they
// were; after that it ends, and its servers with it, each before the next one starts.
func TestOwnerFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(*Guest)
		alone bool
	}{
		{"before it takes the streams", nil, true},
		{"before it is ready", func(*Guest) {}, true},
		{"with an answer that is none", func(g *Guest) { _ = g.line.send(&message{Op: opDone}) }, true},
		{"when it is ready", func(g *Guest) {
			_ = g.line.send(&message{Op: opReady})
			_, _ = g.line.receive()
		}, false},
		{"with a server", func(g *Guest) {
			_ = g.Serve(context.Background(), func(context.Context) int {
				if _, err := g.Start(); err != nil {
					t.Error(err)
				}
				_ = g.line.conn.Close()
				return 0
			})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := owned(t, func(_ context.Context, conn *net.UnixConn) {
				if c.serve == nil {
					return
				}
				g, err := Accept(conn)
				if err != nil {
					t.Error(err)
					return
				}
				defer g.Close()
				c.serve(g)
			})
			var children []*upstream.LocalChild
			w, h, shut := wrapOf(t, func() (*upstream.LocalChild, error) {
				if n := len(children); n > 0 && !hasEnded(children[n-1]) {
					t.Error("a server starts while the one before it still runs")
				}
				child, err := lingering()
				children = append(children, child)
				return child, err
			})
			defer shut()
			if _, err := io.WriteString(h.in, "untouched\n"); err != nil {
				t.Fatal(err)
			}
			status, err := Run(t.Context(), client, json.RawMessage(`{}`), w)
			if err == nil || errors.Is(err, ErrAlone) != c.alone || status != 0 {
				t.Errorf("status %d, %v", status, err)
			}
			for _, child := range children {
				<-child.Ended()
			}
			if !c.alone {
				return
			}
			in, _ := w.Host()
			if line, err := bufio.NewReader(in).ReadString('\n'); line != "untouched\n" {
				t.Errorf("the wrap reads %q, %v", line, err)
			}
		})
	}
}

// TestDiesOften holds that the fourth end of an owner in a while is one too many, however many there were before it.
func TestDiesOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, now := new(keeper), time.Unix(0, 0)
		var deaths []time.Time
		for _, pause := range rapid.SliceOf(rapid.IntRange(0, 15)).Draw(t, "pauses in seconds") {
			now = now.Add(time.Duration(pause) * time.Second)
			deaths = append(deaths, now)
			recent := 0
			for _, at := range deaths {
				if now.Sub(at) < deathTime {
					recent++
				}
			}
			if often := k.diesOften(now); often != (recent > maxDeaths) {
				t.Errorf("%d ended in %v: %v", recent, deathTime, often)
			}
		}
	})
}

// TestHostilePeers has processes send the owner anything but the streams of a wrap: it takes none of them, and keeps no
// descriptor.
func TestHostilePeers(t *testing.T) {
	refused := make(chan error, 1)
	c := owned(t, func(_ context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err == nil {
			g.Close()
		}
		refused <- err
	})
	one, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	many := slices.Repeat([]*os.File{one}, 20)
	for name, do := range map[string]func(*line) error{
		"nothing":          func(l *line) error { return l.conn.Close() },
		"no streams":       func(l *line) error { return l.send(&message{Op: opStreams}) },
		"two streams":      func(l *line) error { return l.send(&message{Op: opStreams, files: many[:2]}) },
		"too many streams": func(l *line) error { return l.send(&message{Op: opStreams, files: many}) },
		"another message":  func(l *line) error { return l.send(&message{Op: opGo, files: many[:3]}) },
		"a long message":   func(l *line) error { return l.send(&message{Op: strings.Repeat("x", maxMessage), files: many[:3]}) },
		"no JSON": func(l *line) error {
			_, _, err := l.conn.WriteMsgUnix([]byte("\x00\x00\x00\x01x"), syscall.UnixRights(int(one.Fd())), nil)
			return err
		},
	} {
		before := 0
		for round := range 2 { // the first starts the owner
			conn, err := c.Attach(t.Context(), json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := do(&line{conn: conn}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-refused; err == nil {
				t.Errorf("%s: it is taken for a wrap", name)
			}
			_ = conn.Close()
			for end := time.Now().Add(time.Minute); round == 1 && open(t) > before && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // the owner closes its end after it has refused
			}
			if now := open(t); round == 1 && now > before {
				t.Errorf("%s: %d descriptors, %d before", name, now, before)
			}
			before = open(t)
		}
	}
}

// TestKey holds that owners are apart by build, parent and variables, whose order does not count.
func TestKey(t *testing.T) {
	key := func(b owner.Build, parent int, inherited ...string) string {
		k, err := Key(b, parent, inherited)
		if err != nil {
			t.Error(err)
		}
		return k
	}
	build, parent := time.Now(), os.Getppid()
	same := key(build, parent, "A=1", "B=2")
	if same != key(build, parent, "B=2", "A=1") {
		t.Error("the order of variables counts")
	}
	for name, other := range map[string]string{
		"build": key(build.Add(1), parent, "A=1", "B=2"), "parent": key(build, os.Getpid(), "A=1", "B=2"),
		"a value": key(build, parent, "A=1", "B=3"), "a variable": key(build, parent, "A=1"), "a text": key(build, parent, "A=1B=2"),
	} {
		if other == same {
			t.Errorf("%s does not count", name)
		}
	}
	for _, none := range []int{-1, 0, 1, 1 << 30} {
		if k, err := Key(build, none, nil); err == nil {
			t.Errorf("parent %d has the key %s", none, k)
		}
	}
}

// TestCheck holds that an owner serves those only that it is for.
func TestCheck(t *testing.T) {
	own, err := Key(time.Time{}, os.Getppid(), []string{"A=1"})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan [3]error)
	c := owned(t, func(_ context.Context, conn *net.UnixConn) {
		got <- [3]error{
			Check(conn, time.Time{}, own, []string{"A=1"}), Check(conn, time.Time{}, own, []string{"A=2"}),
			Check(conn, time.Time{}, "another", []string{"A=1"}),
		}
	})
	conn, err := c.Attach(t.Context(), json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if all := <-got; all[0] != nil || all[1] == nil || all[2] == nil {
		t.Errorf("%v", all)
	}
}

// TestHeardIsTold has one owner after the other end: each is told the label that the wrap had kept last, and no owner has
// one kept that the next could not be told.
func TestHeardIsTold(t *testing.T) {
	told := make(chan string, 3)
	var lives atomic.Int32
	c := owned(t, func(ctx context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		told <- string(g.Heard)
		_ = g.Serve(ctx, func(context.Context) int {
			life := lives.Add(1)
			if life == 3 {
				return 0
			}
			if err := g.Keep(fmt.Appendf(nil, `{"life":%d}`, life)); err != nil {
				t.Error(err)
			}
			if g.Keep(bytes.Repeat([]byte{'1'}, maxHeard+1)) == nil {
				t.Error("a label without end is kept")
			}
			_ = g.line.conn.Close()
			return 0
		})
	})
	w, _, shut := wrapOf(t, cat)
	defer shut()
	if status, err := Run(t.Context(), c, json.RawMessage(`{}`), w); status != 0 || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	for _, want := range []string{"", `{"life":1}`, `{"life":2}`} {
		if got := <-told; got != want {
			t.Errorf("an owner is told %s, not %s", got, want)
		}
	}
}
