package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/metrics"
	"slices"
	"time"
)

// A Process runs each program in a process of its own: Command has to call [Serve] with its standard input and
// output.
type Process struct {
	Command []string
	Time    time.Duration // for the program's own work; zero: MaxTime
}

// A message goes between a process and its program, one a line.
type message struct {
	Program *Program `json:"program,omitempty"` // the first, to the process
	Value   *Value   `json:"value,omitempty"`   // an answer to the process
	Error   string   `json:"error,omitempty"`   // another

	Call *Call  `json:"call,omitempty"` // of the process
	Name string `json:"name,omitempty"` // of a value
	End  *End   `json:"end,omitempty"`  // the last
}

// maxLine bounds a message of a process.
const maxLine = 16 * MaxOutput

// Run runs a program. The error is one of [ErrStop], of the context or of the machine.
func (p *Process) Run(ctx context.Context, prog *Program, host Host) (End, error) {
	if len(prog.Source) > MaxSource {
		return *Check(prog), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return End{}, fmt.Errorf("starting a program: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return End{}, fmt.Errorf("starting a program: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return End{}, fmt.Errorf("starting a program: %w", err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed, or has ended
	}()
	t := talk{host: host, in: in, out: bufio.NewReaderSize(out, 1<<16), left: p.Time, kill: cancel}
	if t.left <= 0 {
		t.left = MaxTime
	}
	return t.run(ctx, prog)
}

// A talk is what goes between a process and its host.
type talk struct {
	host Host
	in   io.Writer
	out  *bufio.Reader
	left time.Duration // for the work of the process
	kill func()
	had  []string // IDs of the values that the process got
}

// run answers a process until its end.
func (t *talk) run(ctx context.Context, prog *Program) (End, error) {
	m := message{Program: prog}
	for {
		said, err := t.exchange(&m)
		switch {
		case err != nil:
			if cause := context.Cause(ctx); t.left > 0 && cause != nil {
				return End{}, cause
			}
			slices.Sort(t.had)
			return End{Kind: Bound, Uses: slices.Compact(t.had)}, nil // it ran out of time or memory
		case said.End != nil:
			return *said.End, nil
		}
		var v Value
		if said.Call != nil {
			v, err = t.host.Call(ctx, said.Call)
		} else {
			v, err = t.host.Value(ctx, said.Name)
		}
		switch m = (message{Value: &v}); {
		case errors.Is(err, ErrStop):
			return End{}, err
		case err != nil:
			m = message{Error: err.Error()}
		default:
			t.had = append(t.had, v.ID)
		}
	}
}

// exchange sends a message and returns the next one of the process. A process that takes too long is killed.
func (t *talk) exchange(m *message) (said message, err error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return said, err
	}
	began := time.Now()
	timer := time.AfterFunc(t.left, t.kill)
	defer func() {
		timer.Stop()
		t.left -= time.Since(began)
	}()
	if _, err := t.in.Write(append(raw, '\n')); err != nil {
		return said, err
	}
	line, err := readLine(t.out, maxLine)
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(line, &said)
}

var errLine = errors.New("a message is too long")

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		more, err := r.ReadSlice('\n')
		if line = append(line, more...); len(line) > limit {
			return nil, errLine
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Serve is the process of one program: it reads the program, and talks with the [Process] that started it. The
// process has to end when it returns.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := confine(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, in, out) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if metrics.Read(sample); sample[0].Value.Uint64() > MaxMemory {
				return errMemory // which ends the process, whatever the program does
			}
		}
	}
}

var errMemory = errors.New("the program took too much memory")

func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	r := &remote{in: bufio.NewReaderSize(in, 1<<16), out: out}
	first, err := r.receive()
	if err != nil {
		return err
	}
	if first.Program == nil {
		return errors.New("there is no program")
	}
	end, err := Interpret(ctx, first.Program, r)
	if err != nil {
		return err
	}
	return r.send(&message{End: &end})
}

// A remote is the host of a program, in its process.
type remote struct {
	in  *bufio.Reader
	out io.Writer
}

func (r *remote) send(m *message) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(raw, '\n'))
	return err
}

func (r *remote) receive() (m message, err error) {
	line, err := readLine(r.in, MaxMemory)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

// ask sends a message and returns the value that is the answer.
func (r *remote) ask(m *message) (Value, error) {
	if err := r.send(m); err != nil {
		return Value{}, errors.Join(ErrStop, err)
	}
	said, err := r.receive()
	switch {
	case err != nil:
		return Value{}, errors.Join(ErrStop, err)
	case said.Value == nil:
		return Value{}, errors.New(said.Error)
	}
	return *said.Value, nil
}

func (r *remote) Call(_ context.Context, c *Call) (Value, error) { return r.ask(&message{Call: c}) }

func (r *remote) Value(_ context.Context, name string) (Value, error) {
	return r.ask(&message{Name: name})
}
