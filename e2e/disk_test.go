package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var faults = flag.Int("e2e.faults", 30, "how many of all errors of the disk TestDiskErrors tries; negative: all of them")

// A fault is an error of the system calls that write, sync or rename in the state directory. Strace makes it.
type fault struct {
	calls string // names of system calls, separated by commas
	err   string
	nth   int  // of these calls in each thread, from 1
	on    bool // whether all later ones fail too
}

// diskCalls are the system calls that fail, and how they may.
var diskCalls = []struct {
	calls  string
	errors []string
	on     bool // whether they may go on failing, as on a full disk
}{
	{"pwrite64", []string{"EIO", "ENOSPC"}, true},
	{"fsync,fdatasync", []string{"EIO", "ENOSPC"}, false},
	{"ftruncate,fallocate", []string{"EIO", "ENOSPC"}, true},
	{"rename,renameat,renameat2,link,linkat,unlink,unlinkat", []string{"EIO", "ENOSPC"}, false},
}

func (f fault) String() string {
	when := strconv.Itoa(f.nth)
	if f.on {
		when += "+"
	}
	return fmt.Sprintf("inject=%s:error=%s:when=%s", f.calls, f.err, when)
}

// TestDiskErrors lets the calls fail by which the program writes, syncs and renames its state, one after the other, while it
// starts and under load. Each time it then ends or is killed, and starts again on the remaining files: no effect is
// without its event, no label missing that came with a result, and the log verifies.
func TestDiskErrors(t *testing.T) {
	needEnabled(t)
	needStrace(t)
	seed := rand.Uint64()
	d := &disk{random: rand.New(rand.NewPCG(seed, 0))}
	all := d.plan(t)
	possible := len(all)
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if *faults >= 0 && *faults < len(all) {
		all = all[:*faults]
	}
	for i, began := 0, time.Now(); i < len(all) && time.Since(began) < *within; i++ {
		f := all[i]
		d.run(t, f)
		if t.Failed() {
			t.Fatalf("after %d faults: %v, seed %d", i, f, seed)
		}
	}
	slices.Sort(d.starts)
	t.Logf("%d faults of %d; %d calls of the system failed; of %d calls %d were answered, %d refused, %d saw the program end; %d starts failed",
		len(d.starts), possible, d.injected, d.calls, d.answered, d.refused, d.cut, d.unready)
	if d.injected == 0 || d.refused+d.unready == 0 {
		t.Fatal("nothing failed")
	}
	t.Logf("a start afterwards took %v in the middle and %v at most", d.starts[len(d.starts)/2], d.starts[len(d.starts)-1])
}

// needStrace skips a test, and says so, where no process may be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-e", "trace=fsync", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("NOTHING WAS TESTED: strace is needed, and permission to trace: %v %s", err, out)
	}
}

// Disk counts the events of a run.
type disk struct {
	random *rand.Rand
	starts []time.Duration // from the start of the program after a fault to the answer to the handshake

	injected, calls, answered, refused, cut, unready int
}

// The load of a run: so many callers make so many calls each.
const (
	diskCallers = 4
	diskCalled  = 6
)

// trace returns the command line of strace for the system calls on the state of c, and the path of its output.
func (c *counted) trace(set string, options ...string) (line []string, out string) {
	out = filepath.Join(c.dir, "trace")
	strace, _ := exec.LookPath("strace")
	line = []string{strace, "-f", "--seccomp-bpf", "-o", out, "-e", "trace=" + set}
	dir := filepath.Dir(c.store)
	for _, path := range []string{dir, c.store, c.store + "-wal", c.store + "-shm", c.store + ".key"} {
		line = append(line, "-P", path)
	}
	return append(line, options...), out
}

// newDisk configures a server whose state is in a directory of its own.
func newDisk(t *testing.T) *counted {
	t.Helper()
	c := newCounted(t, secretsStay)
	c.store = filepath.Join(c.dir, "state", "state.db")
	return c
}

// plan has the program run without a fault, counts the calls, and returns all faults that there may be.
func (d *disk) plan(t *testing.T) (all []fault) {
	t.Helper()
	for _, k := range diskCalls {
		c, h := newDisk(t), newHistory()
		line, out := c.trace(k.calls)
		d.load(t, c, h, line)
		c.check(t, h)
		most := 0
		for _, n := range perThread(t, out) {
			most = max(most, n)
		}
		for nth := range most {
			for _, err := range k.errors {
				all = append(all, fault{k.calls, err, nth + 1, false})
				if k.on {
					all = append(all, fault{k.calls, err, nth + 1, true})
				}
			}
		}
		t.Logf("%s: up to %d a thread", k.calls, most)
	}
	return all
}

var traced = regexp.MustCompile(`^(\d+) +\w+\(`)

// perThread counts the calls in the output of strace, by thread.
func perThread(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range bytes.Lines(text) {
		if m := traced.FindSubmatch(line); m != nil {
			count[string(m[1])]++
		}
	}
	return count
}

// run has the program meet a fault, and another check the remaining files.
func (d *disk) run(t *testing.T, f fault) {
	t.Helper()
	c, h := newDisk(t), newHistory()
	line, out := c.trace(f.calls, "-e", f.String())
	if ready := d.load(t, c, h, line); !ready {
		d.unready++
	}
	if text, err := os.ReadFile(out); err == nil {
		d.injected += bytes.Count(text, []byte("(INJECTED)"))
	}
	began := time.Now()
	next, ready := greet(t, c.start(t))
	if !ready {
		t.Errorf("weir does not start after a fault")
		return
	}
	d.starts = append(d.starts, time.Since(began))
	d.call(t, next, h, "later")
	next.m.end(t)
	c.check(t, h)
	for _, o := range h.all {
		d.calls++
		switch {
		case o.answered == 0:
			d.cut++
		case o.refused:
			d.refused++
		default:
			d.answered++
		}
	}
}

// load runs the program under strace until its host has called enough, and ends it or kills it. It returns whether the program
// was ready.
func (d *disk) load(t *testing.T, c *counted, h *history, strace []string) (ready bool) {
	t.Helper()
	caller, ready := greet(t, c.startUnder(t, strace...))
	if ready {
		d.call(t, caller, h, "first")
	}
	if d.random.IntN(2) == 0 {
		c.killWeir(t)
	}
	caller.m.end(t)
	c.gone(t)
	return ready
}

// killWeir kills each weir of the configuration, and not its tracer.
func (c *counted) killWeir(t *testing.T) {
	t.Helper()
	for _, line := range processes(c.dir) {
		id, command, _ := strings.Cut(line, " ")
		if pid, err := strconv.Atoi(id); err == nil && strings.HasPrefix(command, world.weir+" ") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// call makes calls in a few sessions, some at one time, until all are answered or the program has ended.
func (d *disk) call(t *testing.T, host *fleetHost, h *history, phase string) {
	var all sync.WaitGroup
	for caller := range diskCallers {
		random := rand.New(rand.NewPCG(d.random.Uint64(), 0))
		all.Go(func() {
			for i := range diskCalled {
				o := &operation{tool: "append", session: name("session", random.IntN(2)), parent: "group"}
				o.ID = name(phase, caller, i)
				switch random.IntN(4) {
				case 0:
					o.session, o.parent = "group", ""
				case 1:
					o.tool, o.Secret = "look", random.IntN(10) == 0
				}
				h.send(o)
				answer, ok := host.do(o.ID, o.request(o.ID))
				if !ok {
					return
				}
				h.answer(t, o.ID, answer)
			}
		})
	}
	all.Wait()
}

// check compares the answers that the host saw with the remaining files.
func (c *counted) check(t *testing.T, h *history) {
	t.Helper()
	c.gone(t)
	if len(h.all) == 0 {
		return // perhaps nothing was begun
	}
	c.verify(t)
	e := c.evidence(t)
	h.check(t, e)
	h.checkDecisions(t, e)
}

// TestDiskFull has the program run out of room, and get more. While there is none, nothing that may change anything happens;
// afterwards it does again, in the same process, and after a crash too.
func TestDiskFull(t *testing.T) {
	needEnabled(t)
	c, h := newDisk(t), newHistory()
	dir := filepath.Dir(c.store)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("NOTHING WAS TESTED: a file system of a fixed size has to be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	d := &disk{random: rand.New(rand.NewPCG(rand.Uint64(), 0))}
	caller, ready := greet(t, c.start(t))
	if !ready {
		t.Fatal("weir does not start")
	}
	for i := 0; h.refused() == 0; i++ {
		if d.callEffects(t, caller, h, name("filling", i)); i == 1000 {
			t.Fatal("there is still room")
		}
	}
	d.callEffects(t, caller, h, "full")
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	before := h.refused()
	d.callEffects(t, caller, h, "room")
	if h.refused() != before {
		t.Errorf("%d calls were refused when there was room, %d before", h.refused()-before, before)
	}
	c.killWeir(t)
	caller.m.end(t)
	again, ready := greet(t, c.start(t))
	if !ready {
		t.Fatal("weir does not start")
	}
	d.callEffects(t, again, h, "again")
	again.m.end(t)
	c.check(t, h)
	t.Logf("%d calls, %d refused", len(h.all), h.refused())
}

// callEffects makes calls that have effects, in one session that raises nothing.
func (d *disk) callEffects(t *testing.T, host *fleetHost, h *history, phase string) {
	t.Helper()
	for i := range 8 {
		o := &operation{tool: "append", session: "one"}
		o.ID, o.Unseen = name(phase, i), true
		h.send(o)
		answer, ok := host.do(o.ID, o.request(o.ID))
		if !ok {
			t.Fatal("weir ended")
		}
		h.answer(t, o.ID, answer)
	}
}
