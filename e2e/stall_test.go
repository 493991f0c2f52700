package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A valve forwards connections to a server, as long as it is open. While it is shut it forwards nothing, and ends nothing.
type valve struct {
	net.Listener
	mu   sync.RWMutex // held to write while it is shut
	done sync.WaitGroup
}

func newValve(t *testing.T, to string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{Listener: l}
	v.done.Go(func() {
		for {
			near, err := v.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", to)
			if err != nil {
				near.Close()
				continue
			}
			v.done.Go(func() { v.forward(near, far) })
			v.done.Go(func() { v.forward(far, near) })
		}
	})
	t.Cleanup(func() {
		v.Close()
		v.done.Wait()
	})
	return v
}

func (v *valve) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		v.mu.RLock()
		_, failed := to.Write(b[:n])
		v.mu.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// TestStalledStore has the database behind a weir answer no more, without ending a connection: every call is refused, the agent reads
// nothing of the database, one line of the log and weir status tell, and calls go on when it answers again.
func TestStalledStore(t *testing.T) {
	needEnabled(t)
	server := startPostgres(t)
	v := newValve(t, filepath.Join(server.dir, ".s.PGSQL.5432"))
	c := newCounted(t, secretsStay)
	c.store = "postgres://weir@" + v.Addr().String() + "/postgres?" + url.Values{"sslmode": {"disable"}}.Encode()
	host, ready := greet(t, c.start(t))
	if !ready {
		t.Fatal("weir does not start")
	}
	call := func(phase string, n int, tool string) (answer string) {
		o := &operation{tool: tool, session: "one"}
		o.ID, o.Unseen = name(phase, n), true
		m, ok := host.do(o.ID, o.request(o.ID))
		if !ok {
			t.Fatal("weir ended")
		}
		return fmt.Sprint(m.Result, m.Error)
	}
	call("before", 0, "append")
	v.mu.Lock()
	var callers sync.WaitGroup
	var longest time.Duration
	var mu sync.Mutex
	for i := range 12 {
		callers.Go(func() {
			for j := range 3 {
				began := time.Now()
				answer := call("stalled", 10*i+j, []string{"append", "look"}[i%2])
				mu.Lock()
				longest = max(longest, time.Since(began))
				mu.Unlock()
				if !strings.Contains(answer, "weir status") || strings.Contains(answer, "postgres") || strings.Contains(answer, "127.0.0.1") {
					t.Errorf("the agent reads: %s", answer)
				}
			}
		})
	}
	callers.Wait()
	asks := exec.Command(world.weir, "status")
	asks.Env = c.env
	said, err := asks.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	status := string(said)
	if !strings.Contains(status, "store stalled since") || !strings.Contains(status, "hint: the database server, or the way to it, does not answer") {
		t.Errorf("weir status says:\n%s", status)
	}
	v.mu.Unlock()
	refused := true
	for deadline := time.Now().Add(time.Minute); refused && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		refused = strings.Contains(call("after", int(time.Until(deadline)), "append"), "weir status")
	}
	if refused {
		t.Error("calls do not go on")
	}
	host.m.end(t)
	said, err = os.ReadFile(filepath.Join(c.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"level=ERROR": 1, "the store does not work": 1, "the store works again": 1} {
		if n := bytes.Count(said, []byte(text)); n != want {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", text, n, want, said)
		}
	}
	c.verify(t)
	t.Logf("36 calls while the database had stalled were refused, each within %v", longest.Round(10*time.Millisecond))
}
