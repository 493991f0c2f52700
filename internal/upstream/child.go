package upstream

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
)

// drainWait is how long the output of a child is read after its exit. Only a process that left the child's group can
// keep it open longer.
const drainWait = 250 * time.Millisecond

// A Child is the process of a server, which may be the child of another process than this one.
type Child interface {
	Streams() (stdin io.WriteCloser, stdout io.ReadCloser)
	PID() int
	Ended() <-chan struct{}  // closed when the process and its group are gone
	Ending() hosterror.Value // how it ended; only when it has
	Terminate()              // asks every process of the group to exit
	Kill()                   // kills every process of the group
}

// A LocalChild is a child of this process, in a process group of its own.
type LocalChild struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	ended         chan struct{}
}

// StartChild starts the program of a spec. Its standard error goes to a writer, from a goroutine; nil discards it.
func StartChild(spec Spec, base []string, stderr io.Writer, log *slog.Logger) (*LocalChild, error) {
	cmd := exec.Command(spec.Command[0], spec.Command[1:]...)
	cmd.Dir = spec.Dir
	cmd.Env = append(append([]string{}, base...), spec.Env...)
	cmd.Stderr = stderr
	cmd.WaitDelay = drainWait // for standard error
	OwnGroup(cmd)
	// Not StdinPipe and StdoutPipe: Wait would close them, the latter before all is read.
	input, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, output, err := os.Pipe()
	if err != nil {
		_, _ = input.Close(), stdin.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = input, output
	err = cmd.Start()
	_, _ = input.Close(), output.Close()
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, fmt.Errorf("starting %q: %w", spec.Command[0], err)
	}
	c := &LocalChild{cmd, stdin, stdout, make(chan struct{})}
	shellEnds, err := endWithUs(cmd.Process)
	if err != nil {
		log.Debug("server may outlive a crash", "server", spec.Name, "error", err)
		shellEnds = func() {}
	}
	go c.wait(shellEnds)
	return c, nil
}

// wait reaps the child, kills the rest of its group, and waits for the shell there.
func (c *LocalChild) wait(shellEnds func()) {
	_ = c.cmd.Wait()
	// The group's id may be given to others only when the group is empty, and ids go round: this cannot hit a foreign
	// group unless all others are used up in between.
	KillGroup(c.cmd.Process)
	shellEnds()
	close(c.ended)
}

// Files returns the ends of the child's standard input and output.
func (c *LocalChild) Files() (stdin, stdout *os.File) { return c.stdin, c.stdout }

// State returns how the child ended; only when it has.
func (c *LocalChild) State() *os.ProcessState { return c.cmd.ProcessState }

// Streams implements [Child].
func (c *LocalChild) Streams() (io.WriteCloser, io.ReadCloser) { return c.stdin, c.stdout }

// PID implements [Child].
func (c *LocalChild) PID() int { return c.cmd.Process.Pid }

// Ended implements [Child].
func (c *LocalChild) Ended() <-chan struct{} { return c.ended }

// Ending implements [Child].
func (c *LocalChild) Ending() hosterror.Value { return hosterror.Exit(c.cmd.ProcessState) }

// Terminate implements [Child].
func (c *LocalChild) Terminate() { TerminateGroup(c.cmd.Process) }

// Kill implements [Child].
func (c *LocalChild) Kill() { KillGroup(c.cmd.Process) }
