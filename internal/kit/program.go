package kit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/upstream"
)

// A Program is how to start an implementation.
type Program struct {
	Command []string
	Dir     string
	Env     []string
	Stderr  io.Writer // nil discards it
}

// maxLine is the size of the largest line that is read from an implementation, in bytes.
const maxLine = 16 << 20

// errEnded is the end of a program's output.
var errEnded = errors.New("the implementation ended, or closed its output")

// A running program speaks lines on its standard input and output.
type running struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan []byte // closed at the end of the output
	done  chan struct{}
	once  sync.Once
}

// start starts the program in a process group of its own.
func (p Program) start() (*running, error) {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = p.Dir, p.Env, p.Stderr, time.Second
	upstream.OwnGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, theirs, err := os.Pipe() // not StdoutPipe: Wait would close it before all is read
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %.200q: %w", p.Command[0], err), stdin.Close(), stdout.Close())
	}
	r := &running{cmd: cmd, stdin: stdin, lines: make(chan []byte), done: make(chan struct{})}
	go r.read(stdout)
	return r, nil
}

// read hands on the lines of the output until it ends or the program is closed.
func (r *running) read(stdout io.ReadCloser) {
	defer close(r.lines)
	defer stdout.Close()
	all := bufio.NewScanner(stdout)
	all.Buffer(nil, maxLine)
	for all.Scan() {
		if len(bytes.TrimSpace(all.Bytes())) == 0 {
			continue
		}
		select {
		case r.lines <- bytes.Clone(all.Bytes()):
		case <-r.done:
			return
		}
	}
}

// next returns the next line.
func (r *running) next(ctx context.Context) ([]byte, error) {
	select {
	case line, ok := <-r.lines:
		if !ok {
			return nil, errEnded
		}
		return line, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// grace is how long a program may take to end by itself, with the processes that it started.
const grace = 2 * time.Second

// close ends the program and its group: its input ends, then it is asked to exit, then killed.
func (r *running) close() {
	r.once.Do(func() {
		close(r.done)
		_ = r.stdin.Close()
		upstream.TerminateGroup(r.cmd.Process)
		exited := make(chan struct{})
		go func() {
			_ = r.cmd.Wait()
			close(exited)
		}()
		select {
		case <-exited:
		case <-time.After(grace):
		}
		upstream.KillGroup(r.cmd.Process)
		<-exited
	})
}
