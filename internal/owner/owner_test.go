package owner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
)

var built = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// A rig is a directory with owners in it.
type rig struct {
	t      *testing.T
	dir    string
	idle   time.Duration
	answer func(context.Context, owner.Request) ([]byte, error)

	outdated atomic.Bool // the program

	mu      sync.Mutex
	started int
	running sync.WaitGroup
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "owner") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: filepath.Join(dir, "o"), answer: func(_ context.Context, q owner.Request) ([]byte, error) {
		return append(append([]byte(nil), q.Head...), q.Body...), nil
	}}
	t.Cleanup(func() {
		if _, err := r.client(built).Retire(context.Background()); err != nil {
			t.Error(err)
		}
		r.running.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

// client returns a client of a build, which starts owners of the same.
func (r *rig) client(b owner.Build) *owner.Client {
	return &owner.Client{Dir: r.dir, Build: b, Start: func() (<-chan struct{}, error) {
		r.mu.Lock()
		r.started++
		r.mu.Unlock()
		ended := make(chan struct{})
		r.running.Go(func() {
			defer close(ended)
			for {
				err := owner.Serve(context.Background(), owner.Options{Dir: r.dir, Build: b, Idle: r.idle, Answer: r.answer, Outdated: r.outdated.Load})
				if !errors.Is(err, owner.ErrTaken) {
					if err != nil {
						r.t.Error(err)
					}
					return
				}
				time.Sleep(time.Millisecond) // for the one that retires
			}
		})
		return ended, nil
	}}
}

func (r *rig) starts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

func ask(t *testing.T, c *owner.Client, head, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := c.Ask(ctx, owner.Request{Head: json.RawMessage(head), Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestAsk starts an owner with the first request, and has it serve the ones after, with a body of any bytes.
func TestAsk(t *testing.T) {
	r := newRig(t)
	c := r.client(built)
	for _, body := range []string{"", "x", "\x00\xff\n", strings.Repeat("y", 9<<20)} {
		if got := ask(t, c, `{"a":1}`, body); got != `{"a":1}`+body {
			t.Errorf("%d bytes for %d", len(got), len(body))
		}
	}
	if n := r.starts(); n != 1 {
		t.Errorf("%d owners were started", n)
	}
	info, err := os.Stat(filepath.Join(r.dir, "socket"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
}

// TestOne has many clients need an owner at the same time: one owner has all requests, and no other serves beside it.
func TestOne(t *testing.T) {
	r := newRig(t)
	var at, most atomic.Int64
	r.answer = func(_ context.Context, q owner.Request) ([]byte, error) {
		for n := at.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer at.Add(-1)
		return q.Body, nil
	}
	ask(t, r.client(built), "{}", "first")
	err := owner.Serve(t.Context(), owner.Options{Dir: r.dir, Build: built, Answer: r.answer})
	if !errors.Is(err, owner.ErrTaken) {
		t.Fatalf("a second owner: %v", err)
	}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { ask(t, r.client(built), "{}", "x") })
	}
	all.Wait()
	if n := r.starts(); n != 1 {
		t.Errorf("%d owners were started", n)
	}
	if m := most.Load(); m > 64 {
		t.Errorf("%d requests at a time", m)
	}
}

// TestNewerBuild has a newer program take over, and the older one be served by it.
func TestNewerBuild(t *testing.T) {
	r := newRig(t)
	old, young := r.client(built), r.client(built.Add(time.Nanosecond))
	ask(t, old, "{}", "")
	ask(t, young, "{}", "")
	if n := r.starts(); n != 2 {
		t.Fatalf("%d owners were started", n)
	}
	ask(t, old, "{}", "")
	ask(t, young, "{}", "")
	if n := r.starts(); n != 2 {
		t.Errorf("%d owners were started", n)
	}
}

// TestRetireFinishes has an owner retire with a request on its hands: it answers that.
func TestRetireFinishes(t *testing.T) {
	r := newRig(t)
	here, on := make(chan struct{}), make(chan struct{})
	r.answer = func(context.Context, owner.Request) ([]byte, error) {
		close(here)
		<-on
		return []byte("done"), nil
	}
	got := make(chan string)
	go func() { got <- ask(t, r.client(built), "{}", "") }()
	<-here
	retired := make(chan error)
	go func() {
		_, err := r.client(built).Retire(context.Background())
		retired <- err
	}()
	for { // until it takes no more connections
		conn, err := net.Dial("unix", filepath.Join(r.dir, "socket"))
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(on)
	if answer := <-got; answer != "done" {
		t.Errorf("the answer is %q", answer)
	}
	if err := <-retired; err != nil {
		t.Error(err)
	}
}

// TestIdle ends an owner that nobody asks; the next request starts another.
func TestIdle(t *testing.T) {
	r := newRig(t)
	r.idle = 100 * time.Millisecond
	ask(t, r.client(built), "{}", "")
	r.running.Wait()
	r.idle = 0
	ask(t, r.client(built), "{}", "")
	if n := r.starts(); n < 2 {
		t.Errorf("%d owners were started", n)
	}
}

// TestLost has an owner end without an answer: that is an error in the end, and no answer.
func TestLost(t *testing.T) {
	r := newRig(t)
	var asked atomic.Int64
	r.answer = func(context.Context, owner.Request) ([]byte, error) {
		asked.Add(1)
		return nil, errors.New("no")
	}
	answer, err := r.client(built).Ask(t.Context(), owner.Request{Head: json.RawMessage("{}")})
	if err == nil || answer != nil || asked.Load() != 3 {
		t.Errorf("%q, %v after %d requests", answer, err, asked.Load())
	}
}

// TestNoOwner has none start: the client gives up when its time is over, or when the program cannot be started.
func TestNoOwner(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	idle := &owner.Client{Dir: r.dir, Build: built, Start: func() (<-chan struct{}, error) { return make(chan struct{}), nil }}
	if answer, err := idle.Ask(ctx, owner.Request{}); err == nil {
		t.Errorf("an answer from nobody: %q", answer)
	}
	broken := &owner.Client{Dir: r.dir, Build: built, Start: func() (<-chan struct{}, error) { return nil, errors.New("no such program") }}
	if answer, err := broken.Ask(t.Context(), owner.Request{}); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("%q, %v", answer, err)
	}
	starts := 0
	short := &owner.Client{Dir: r.dir, Build: built, Start: func() (<-chan struct{}, error) {
		starts++
		ended := make(chan struct{})
		close(ended)
		return ended, nil
	}}
	if answer, err := short.Ask(t.Context(), owner.Request{}); err == nil || !strings.Contains(err.Error(), "ends at once") || starts > 10 {
		t.Errorf("%q, %v after %d starts", answer, err, starts)
	}
}

// TestHostileClients send what is no request; the owner goes on.
func TestHostileClients(t *testing.T) {
	r := newRig(t)
	c := r.client(built)
	ask(t, c, "{}", "")
	for _, text := range []string{
		"", "\x00", "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x00\x00\x00\x02{}", "\x00\x00\x00\x00",
		"\x00\x00\x00\x0c" + `{"op":"none"}`, "\x00\x00\x00\x0c" + `{"op":"ask"}` + "\xff\xff\xff\xff",
	} {
		conn, err := net.Dial("unix", filepath.Join(r.dir, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // it may hang up before
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Log(err)
		}
		rest, _ := io.ReadAll(conn)
		if at := bytes.IndexByte(rest, '{'); at != 4 || bytes.Count(rest, []byte("{")) != 1 {
			t.Errorf("%q: the owner says %q", text, rest)
		}
		_ = conn.Close()
		ask(t, c, "{}", "")
	}
	if n := r.starts(); n != 1 {
		t.Errorf("%d owners were started", n)
	}
}

// TestExposed serves in no directory that others may enter.
func TestExposed(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := owner.Serve(t.Context(), owner.Options{Dir: open, Build: built}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Error(err)
	}
}

// TestLongPath serves in a directory whose path is longer than systems take for a socket, where that can be done; else it says so.
func TestLongPath(t *testing.T) {
	r := newRig(t)
	r.dir = filepath.Join(r.dir, strings.Repeat("long", 30))
	answer, err := r.client(built).Ask(t.Context(), owner.Request{Head: json.RawMessage("{}"), Body: []byte("x")})
	if runtime.GOOS == "linux" && (err != nil || string(answer) != "{}x") ||
		runtime.GOOS != "linux" && (err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME")) {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestOutdated ends an owner whose program was replaced.
func TestOutdated(t *testing.T) {
	r := newRig(t)
	r.idle = time.Hour
	r.outdated.Store(true)
	ask(t, r.client(built), "{}", "")
	r.running.Wait()
}

// TestGone ends an owner whose socket somebody has taken away: nobody could ask it.
func TestGone(t *testing.T) {
	r := newRig(t)
	r.idle = time.Hour
	ask(t, r.client(built), "{}", "")
	if err := os.Remove(filepath.Join(r.dir, "socket")); err != nil {
		t.Fatal(err)
	}
	r.running.Wait()
}
