package e2e

import (
	"flag"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	kills  = flag.Int("e2e.kills", 60, "how often TestCrashes kills the program")
	within = flag.Duration("e2e.within", 2*time.Minute, "after how long TestCrashes and TestDiskErrors begin nothing more")
)

// killsEach is how many kills one state directory goes through.
const killsEach = 25

// secretsStay is a policy under which nothing is written once a session has seen credentials.
const secretsStay = `
  - {name: secrets-stay, when: call, if: session.credentials && tool.name == "append", effect: block, message: it has seen credentials}
`

// TestCrashes ends the program by SIGKILL again and again, while it starts and under load, and checks each time the
// state that is left: no effect without its event, no label missing that came with a result, a log that verifies.
func TestCrashes(t *testing.T) {
	needEnabled(t)
	seed := rand.Uint64()
	c := &crashes{random: rand.New(rand.NewPCG(seed, 0))}
	for began := time.Now(); c.kills < *kills && time.Since(began) < *within; {
		c.directory(t, min(killsEach, *kills-c.kills), began.Add(*within))
		if t.Failed() {
			t.Fatalf("after %d kills, seed %d", c.kills, seed)
		}
		t.Logf("%d kills", c.kills)
	}
	slices.Sort(c.starts)
	t.Logf("%d kills, %d of them before the first answer; %d calls sent, %d answered, %d refused, %d effects", c.kills, c.early, c.sent,
		c.answered, c.refused, c.effects)
	if len(c.starts) == 0 || c.effects == 0 || c.refused == 0 || c.pairs == 0 {
		t.Fatal("nothing happened")
	}
	t.Logf("a start after a kill took %v in the middle and %v at most", c.starts[len(c.starts)/2], c.starts[len(c.starts)-1])
}

// Crashes count the events of a run.
type crashes struct {
	random *rand.Rand
	starts []time.Duration // from the start of the program to the answer to the handshake

	kills, early, sent, answered, refused, effects, pairs int
}

// directory kills the program so many times on one state directory, unless it gets late.
func (c *crashes) directory(t *testing.T, times int, until time.Time) {
	t.Helper()
	state, h := newCounted(t, secretsStay), newHistory()
	began := false // whether the program was ever ready
	for last := false; !last; times-- {
		last = times == 1 || time.Now().After(until)
		began = c.kill(t, state, h, began) || began
		if t.Failed() {
			return
		}
		if !began {
			continue // nobody was told of anything
		}
		// Now and then the program itself is the first to open the files after the crash.
		if !last && c.random.IntN(3) == 0 {
			continue
		}
		state.verify(t)
		e := state.evidence(t)
		h.check(t, e)
		if last {
			c.pairs += h.checkDecisions(t, e)
			c.effects += len(e.effects)
		}
	}
	c.sent += len(h.all)
	for _, o := range h.all {
		switch {
		case o.refused:
			c.refused++
		case o.answered > 0:
			c.answered++
		}
	}
}

// An attempt is one start of the program, which ends by a kill.
type attempt struct {
	*member
	began  time.Time
	hello  chan time.Duration // takes how long the answer to the handshake took
	enough chan struct{}      // takes one, when so many calls were answered as there may be before the kill
	read   chan struct{}      // closed when everything was read that it wrote
}

// kill starts the program, puts it under load and kills it at some moment. It returns whether the program was ready before.
func (c *crashes) kill(t *testing.T, state *counted, h *history, known bool) (ready bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(c.random.Uint64(), 0)) // the load has its own
	a := &attempt{began: time.Now(), hello: make(chan time.Duration, 1), enough: make(chan struct{}, 1), read: make(chan struct{})}
	a.member = state.start(t)
	room, over, written := make(chan struct{}, 32), make(chan struct{}), make(chan struct{})
	calls := 1 + c.random.IntN(150)
	go a.listen(t, h, room, calls)
	go func() {
		defer close(written)
		_, _ = io.WriteString(a.in, handshake)
		load{random, c.kills, h}.run(a.in, room, over)
	}()
	ready = c.wait(t, a, c.random.IntN(4) == 0 || !known && c.random.IntN(2) == 0)
	a.kill()
	close(over)
	<-written
	<-a.read
	state.gone(t)
	c.kills++
	return ready
}

// listen takes answers, and makes room for another call after each.
func (a *attempt) listen(t *testing.T, h *history, room <-chan struct{}, calls int) {
	defer close(a.read)
	a.member.read(t, func(id string, answer message) {
		if id == "hello" {
			a.hello <- time.Since(a.began)
			return
		}
		h.answer(t, id, answer)
		<-room
		if calls--; calls == 0 {
			a.enough <- struct{}{}
		}
	})
}

// wait returns at the moment of a kill: early while the program starts, else under load. It returns whether the program was ready.
func (c *crashes) wait(t *testing.T, a *attempt, early bool) (ready bool) {
	t.Helper()
	usual := 100 * time.Millisecond
	if len(c.starts) > 0 {
		usual = c.starts[len(c.starts)-1]
	}
	var now <-chan time.Time
	if early {
		now = time.After(time.Duration(c.random.Int64N(int64(usual))))
	}
	select {
	case took := <-a.hello:
		c.starts = append(c.starts, took)
		select {
		case <-a.enough:
		case <-time.After(3 * time.Second):
		}
		time.Sleep(time.Duration(c.random.Int64N(int64(5 * time.Millisecond))))
		return true
	case <-now:
		c.early++
	case <-a.ended:
		t.Error("weir ended by itself")
	case <-time.After(patience):
		t.Error("weir does not answer")
	}
	return false
}

// A load is calls of one start of the program, counted from zero.
type load struct {
	random  *rand.Rand
	start   int
	history *history
}

// run calls until the program is gone.
func (l load) run(in io.Writer, room chan<- struct{}, over <-chan struct{}) {
	for i := range 900 { // a session tells no more than 1,024 origins apart
		select {
		case room <- struct{}{}:
		case <-over:
			return
		}
		o := l.next(i)
		l.history.send(o)
		if _, err := io.WriteString(in, o.request(o.ID)); err != nil {
			return
		}
	}
}

// next makes a call up. There are four agent sessions under one for each start of the program; now and then one of those
// goes on that a crash has cut off.
func (l load) next(i int) *operation {
	start := l.start
	if i%10 == 0 {
		start = max(start-l.random.IntN(3), 0)
	}
	parent := name("start", start)
	o := &operation{tool: "append", session: name(parent, l.random.IntN(4)), parent: parent, by: l.start}
	o.ID = name(l.start, i)
	switch l.random.IntN(8) {
	case 0:
		o.session, o.parent = parent, ""
	case 1, 2:
		o.tool, o.Secret = "look", l.random.IntN(40) == 0
	}
	return o
}
