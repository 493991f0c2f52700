package e2e

import (
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fleet is some weir on one store, each with a host.
type fleet struct {
	state  *counted
	hosts  []*fleetHost
	server *postgres // nil for the file in the state directory
}

// A fleetKind is where a fleet keeps its state, and how many it is.
type fleetKind struct {
	postgres bool
	weirs    int
}

var fleets = map[string]fleetKind{
	"SQLite":          {false, 2},
	"PostgreSQL":      {true, 2},
	"PostgreSQL five": {true, 5},
}

func (k fleetKind) start(t *testing.T, rules string) *fleet {
	t.Helper()
	f := &fleet{state: newCounted(t, rules)}
	if k.postgres {
		f.server = startPostgres(t)
		f.state.store = f.server.place()
	}
	for range k.weirs {
		h, ready := greet(t, f.state.start(t))
		if !ready {
			t.Fatal("weir does not start")
		}
		f.hosts = append(f.hosts, h)
	}
	return f
}

// greet returns the host of a weir, and whether that has answered it.
func greet(t *testing.T, m *member) (h *fleetHost, ready bool) {
	t.Helper()
	h = &fleetHost{m: m, waiting: map[string]chan message{}}
	go h.listen(t)
	_, ready = h.do("hello", handshake)
	return h, ready
}

// end ends all of them in an orderly way and returns their files.
func (f *fleet) end(t *testing.T) *evidence {
	t.Helper()
	for _, host := range f.hosts {
		host.m.end(t)
	}
	f.state.gone(t)
	f.state.verify(t)
	return f.state.evidence(t)
}

// A fleetHost makes calls that wait for their answers. It may be used concurrently.
type fleetHost struct {
	m       *member
	mu      sync.Mutex
	waiting map[string]chan message // by id; nil when the program has ended
}

func (h *fleetHost) listen(t *testing.T) {
	h.m.read(t, func(id string, answer message) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if waits := h.waiting[id]; waits != nil {
			delete(h.waiting, id)
			waits <- answer
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, waits := range h.waiting {
		close(waits)
	}
	h.waiting = nil
}

// do sends a request and returns its answer; false if the program ends before.
func (h *fleetHost) do(id, request string) (message, bool) {
	waits := make(chan message, 1)
	h.mu.Lock()
	if h.waiting == nil {
		h.mu.Unlock()
		return message{}, false
	}
	h.waiting[id] = waits
	_, err := io.WriteString(h.m.in, request)
	h.mu.Unlock()
	if err != nil {
		return message{}, false
	}
	answer, ok := <-waits
	return answer, ok
}

// The load of TestFleet: so many callers at each weir make so many calls each, in one group of agent sessions after the
// other.
const (
	fleetCallers  = 6
	fleetCalls    = 120
	fleetSessions = 12
)

// TestFleet has some weir on one store make calls in the same agent sessions, while they are paused now and then, the server
// of the store cuts their connections, and it ends and comes back. No decision may ignore a label that came with a
// result before its call was sent, whichever weir handed that on.
func TestFleet(t *testing.T) {
	needEnabled(t)
	for name, kind := range fleets {
		t.Run(name, func(t *testing.T) {
			f, h := kind.start(t, secretsStay), newHistory()
			var callers, troubles sync.WaitGroup
			over := make(chan struct{})
			troubles.Go(func() { f.pause(over) })
			if f.server != nil {
				troubles.Go(func() { f.server.trouble(t, over) })
			}
			for by, host := range f.hosts {
				for i := range fleetCallers {
					callers.Go(func() { host.call(t, h, by, i) })
				}
			}
			callers.Wait()
			close(over)
			troubles.Wait()
			e := f.end(t)
			h.check(t, e)
			pairs, refused := h.checkDecisions(t, e), h.refused()
			if len(h.all) != kind.weirs*fleetCallers*fleetCalls || pairs == 0 || len(e.effects) < len(h.all)/20 {
				t.Fatalf("%d calls, %d refused, %d effects, %d pairs", len(h.all), refused, len(e.effects), pairs)
			}
			t.Logf("%d calls, %d refused, %d effects; %d times a label was acknowledged by one weir before another decided",
				len(h.all), refused, len(e.effects), pairs)
		})
	}
}

// trouble cuts the connections of all weir now and then, and ends the server, in an orderly way or not, until all is over.
func (p *postgres) trouble(t *testing.T, over <-chan struct{}) {
	for i := 1; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(200*time.Millisecond + rand.N(500*time.Millisecond)):
		}
		switch i % 4 {
		case 0:
			p.stop([]os.Signal{syscall.SIGINT, syscall.SIGQUIT}[i/4%2])
			time.Sleep(rand.N(200 * time.Millisecond))
			p.start(t)
		default:
			p.cut()
		}
	}
}

// call is one caller at a weir.
func (h *fleetHost) call(t *testing.T, history *history, by, caller int) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for i := range fleetCalls {
		parent := name("group", i*fleetSessions/fleetCalls)
		o := &operation{tool: "append", session: name(parent, random.IntN(2)), parent: parent, by: by}
		o.ID = name(by, caller, i)
		switch random.IntN(8) {
		case 0, 1:
			o.session, o.parent = parent, ""
		case 2, 3:
			o.tool, o.Secret = "look", random.IntN(20) == 0
		}
		history.send(o)
		answer, ok := h.do(o.ID, o.request(o.ID))
		if !ok {
			t.Errorf("weir ended before it answered %s", o.ID)
			return
		}
		history.answer(t, o.ID, answer)
	}
}

// pause stops one weir for a moment, then another, until all is over.
func (f *fleet) pause(over <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(rand.Int64N(int64(200 * time.Millisecond)))):
		}
		p := f.hosts[i%len(f.hosts)].m.cmd.Process
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(rand.Int64N(int64(100 * time.Millisecond))))
		_ = p.Signal(syscall.SIGCONT)
	}
}
