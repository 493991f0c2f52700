package quarantine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/weir-mcp/weir/vault"
)

// A Command answers questions by a program: one process a question, without environment but for Env. It gets
//
//	{"question": "…", "as": "one_of", "options": ["up", "down"], "text": "…"}
//
// on standard input, and prints {"answer": …}. Nobody sees anything else that it prints.
type Command struct {
	Args    []string // the program and its arguments
	Env     []string // NAME=value
	Timeout time.Duration

	running chan struct{}
}

// maxProcesses bounds the programs that run at one time.
const maxProcesses = 4

// NewCommand returns a program that answers questions. A timeout of zero is [DefaultTimeout].
func NewCommand(args, env []string, timeout time.Duration) *Command {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return &Command{args, append([]string{}, env...), timeout, make(chan struct{}, maxProcesses)}
}

// Answer is [Model.Answer] by a program. No error quotes anything that it prints.
func (c *Command) Answer(ctx context.Context, text string, look *vault.Look) (json.RawMessage, error) {
	if len(text) > maxText {
		return nil, errTooLong
	}
	question, err := json.Marshal(map[string]any{
		"question": look.Question, "as": look.As, "options": look.Options, "min": look.Min, "max": look.Max, "text": text,
	})
	if err != nil {
		return nil, fmt.Errorf("writing a question: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the quarantined program: %w", ctx.Err())
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.Env, os.TempDir(), time.Second
	said := &bounded{left: maxAnswer, over: cancel}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(question), said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("asking the quarantined program: %w", errors.Join(ctx.Err(), err))
	}
	return answerIn(said.text.Bytes())
}

// bounded takes so many bytes, and ends the program then.
type bounded struct {
	text bytes.Buffer // not embedded: it would read without bounds by itself
	left int
	over func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		b.over()
		return 0, io.ErrShortBuffer
	}
	return b.text.Write(p)
}
