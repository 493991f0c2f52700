package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A process is a child that speaks over its standard input and output.
type process struct {
	child  Child
	stdin  io.Closer
	stream *rpc.Stream
	to     receiver
	grace  time.Duration

	closing sync.Once
	err     error // of closing
}

// startProcess starts the spec's command, here or where the options say.
func startProcess(spec Spec, opts Options, to receiver) (*process, error) {
	start := spec.Start
	if start == nil {
		start = func() (Child, error) { return StartChild(spec, opts.BaseEnv, opts.Stderr, opts.Logger) }
	}
	child, err := start()
	if err != nil {
		return nil, err
	}
	stdin, stdout := child.Streams()
	p := &process{
		child: child, stdin: stdin, to: to, grace: opts.Grace,
		stream: rpc.NewStream(stdout, stdin, &rpc.StreamOptions{MaxMessage: opts.MaxMessage}),
	}
	go func() {
		<-child.Ended()
		time.AfterFunc(drainWait, func() { _ = stdout.Close() })
	}()
	return p, nil
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
	case <-p.child.Ended():
		return hosterror.New("it ended with {}", p.child.Ending())
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
			p.child.Terminate()
			if !p.gone() {
				p.child.Kill()
				if !p.gone() {
					p.err = fmt.Errorf("server process %d survives being killed", p.child.PID())
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
	case <-p.child.Ended():
		return true
	case <-timer.C:
		return false
	}
}
