package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
)

// drainWait is how long the output of a child is read after its exit. Only a process that left the child's group can
// keep it open longer.
const drainWait = 250 * time.Millisecond

// A process is a child that speaks over its standard input and output.
type process struct {
	cmd    *exec.Cmd
	stream *rpc.Stream
	to     receiver
	stdin  io.Closer
	grace  time.Duration
	exited chan struct{} // closed when the child and its group are gone

	closing sync.Once
	err     error // of closing
}

// startProcess starts the spec's command.
func startProcess(spec Spec, opts Options, to receiver) (*process, error) {
	cmd := exec.Command(spec.Command[0], spec.Command[1:]...)
	cmd.Dir = spec.Dir
	cmd.Env = append(append([]string{}, opts.BaseEnv...), spec.Env...)
	cmd.Stderr = opts.Stderr
	cmd.WaitDelay = drainWait // for standard error
	OwnGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it before all is read.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		_ = stdin.Close()
		return nil, err
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = stdin.Close()
		_ = stdout.Close()
		return nil, fmt.Errorf("starting %q: %w", spec.Command[0], err)
	}
	p := &process{
		cmd:    cmd,
		stream: rpc.NewStream(stdout, stdin, &rpc.StreamOptions{MaxMessage: opts.MaxMessage}),
		to:     to,
		stdin:  stdin,
		grace:  opts.Grace,
		exited: make(chan struct{}),
	}
	shellEnds, err := endWithUs(cmd.Process)
	if err != nil {
		opts.Logger.Debug("server may outlive a crash", "server", spec.Name, "error", err)
		shellEnds = func() {}
	}
	go p.wait(stdout, shellEnds)
	return p, nil
}

// wait reaps the child, kills the rest of its group, waits for the shell there, and then ends its output.
func (p *process) wait(stdout io.Closer, shellEnds func()) {
	_ = p.cmd.Wait()
	// The group's id may be given to others only when the group is empty, and ids go round: this cannot hit a foreign
	// group unless all others are used up in between.
	KillGroup(p.cmd.Process)
	shellEnds()
	close(p.exited)
	time.AfterFunc(drainWait, func() { _ = stdout.Close() })
}

func (p *process) settle(string) {}

// run hands on the child's messages. The error at the end says how the child ended.
func (p *process) run() error {
	for {
		m, err := p.stream.Read(context.Background())
		var bad *rpc.BadMessage
		switch {
		case err == nil:
			p.to.dispatch(m)
		case errors.As(err, &bad):
			p.to.refuse(bad)
		default:
			return p.ending()
		}
	}
}

// ending returns how the child ended.
func (p *process) ending() error {
	select {
	case <-p.exited:
		return hosterror.New("it ended with {}", hosterror.Exit(p.cmd.ProcessState))
	case <-time.After(drainWait):
		return hosterror.New("it closed its output")
	}
}

// Write sends a message to the child. Its errors, save ctx's, are final.
func (p *process) Write(ctx context.Context, m *rpc.Message) error {
	err := p.stream.Write(ctx, m)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}

// Close has the child exit (revision 2025-11-25, Lifecycle, Shutdown): its input ends, then its group gets SIGTERM,
// then SIGKILL. Meanwhile its output must be read, or it may wait for that.
func (p *process) Close() error {
	p.closing.Do(func() {
		_ = p.stdin.Close()
		if !p.gone() {
			TerminateGroup(p.cmd.Process)
			if !p.gone() {
				KillGroup(p.cmd.Process)
				if !p.gone() {
					p.err = fmt.Errorf("server process %d survives being killed", p.cmd.Process.Pid)
				}
			}
		}
		_ = p.stream.Close()
	})
	return p.err
}

// gone waits for the child to exit, for a while.
func (p *process) gone() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}
