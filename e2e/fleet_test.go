package e2e

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fleet is some weir on one store, each with a host.
type fleet struct {
	state *counted
	hosts []*fleetHost
}

// places are where a fleet keeps its state: a place for --store, empty for the file in the state directory.
var places = map[string]func(*testing.T) string{
	"SQLite":     func(*testing.T) string { return "" },
	"PostgreSQL": startPostgres,
}

func startFleet(t *testing.T, place, rules string) *fleet {
	t.Helper()
	f := &fleet{state: newCounted(t, rules)}
	f.state.store = places[place](t)
	for range 2 {
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

// end ends all of them in an orderly way and returns what they have left.
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

// What TestFleet does: so many callers at each weir make so many calls each, in one group of agent sessions after the other.
const (
	fleetCallers  = 6
	fleetCalls    = 120
	fleetSessions = 12
)

// TestFleet has two weir on one store make calls in the same agent sessions, while they are paused now and then. No decision
// may ignore a label that came with a result before its call was sent, whichever weir handed that on.
func TestFleet(t *testing.T) {
	needEnabled(t)
	for place := range places {
		t.Run(place, func(t *testing.T) {
			f, h := startFleet(t, place, secretsStay), newHistory()
			var callers, pauses sync.WaitGroup
			over := make(chan struct{})
			pauses.Go(func() { f.pause(over) })
			for by, host := range f.hosts {
				for i := range fleetCallers {
					callers.Go(func() { host.call(t, h, by, i) })
				}
			}
			callers.Wait()
			close(over)
			pauses.Wait()
			e := f.end(t)
			h.check(t, e)
			pairs := h.checkDecisions(t, e)
			if len(h.all) != 2*fleetCallers*fleetCalls || pairs == 0 || len(e.effects) == 0 {
				t.Fatalf("%d calls, %d effects, %d pairs", len(h.all), len(e.effects), pairs)
			}
			t.Logf("%d calls, %d effects; %d times a label was acknowledged by one weir before another decided", len(h.all), len(e.effects), pairs)
		})
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

// payingAsks is a policy under which a person decides about each payment.
const payingAsks = `
  - {name: paying-asks, when: call, if: tool.name == "pay", effect: ask, message: paying needs a person}
`

// TestFleetApprovals has a person accept a call that then arrives at two weir at the same time, again and again, and in the
// same session too, so that all but the acceptance stays the same. Each acceptance is used once.
func TestFleetApprovals(t *testing.T) {
	needEnabled(t)
	const sessions, rounds, callers = 4, 4, 4
	for place := range places {
		t.Run(place, func(t *testing.T) {
			f := startFleet(t, place, payingAsks)
			for i := range sessions {
				o := &operation{tool: "pay", session: name("session", i)}
				o.ID, o.Unseen = name("payment", i), true
				for r := range rounds {
					f.hosts[r%2].do("first", o.request("first"))
					f.accept(t)
					f.together(callers, o)
				}
			}
			e := f.end(t)
			used, effects := e.checkApprovals(t), 0
			for id, n := range e.effects {
				effects += n
				if n < rounds-1 {
					t.Errorf("%s happened %d times, in %d rounds", id, n, rounds)
				}
			}
			if effects != used || len(e.effects) != sessions {
				t.Errorf("%d effects in %d sessions, %d acceptances used", effects, len(e.effects), used)
			}
			t.Logf("%d acceptances used, %d effects", used, effects)
		})
	}
}

// accept has a person accept everything that waits, on the command line.
func (f *fleet) accept(t *testing.T) {
	t.Helper()
	var list struct{ Questions []struct{ ID string } }
	out := f.state.output(t, "approvals", "--json")
	if err := json.Unmarshal(out, &list); err != nil || len(list.Questions) == 0 {
		t.Fatalf("no question waits: %v in %.500s", err, out)
	}
	for _, q := range list.Questions {
		f.state.output(t, "approve", q.ID)
	}
}

// together has all hosts make the same call at one time, so many times each.
func (f *fleet) together(times int, o *operation) {
	var all sync.WaitGroup
	for _, host := range slices.Repeat(f.hosts, times) {
		id := name("again", rand.Uint64())
		all.Go(func() { host.do(id, o.request(id)) })
	}
	all.Wait()
}
