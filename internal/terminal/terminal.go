// Package terminal asks the person at the terminal that a process belongs to. Standard input, which a program may have
// filled, answers nothing.
//
//	t, err := terminal.Open(750 * time.Millisecond)
//	…
//	defer t.Close()
//	yes, err := t.Agrees(ctx, "Delete it?")
//
// Input that was typed or pasted before a question is dropped, and a yes that is faster than a person reads is none.
// A terminal is no proof of a person: a program can make one, and wait.
package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// A Terminal is the terminal of the process.
type Terminal struct {
	device
	pace time.Duration
}

// A device shows text to a person, and reads lines that are typed.
type device interface {
	io.ReadWriteCloser
	drop() error // forgets input that was typed and not read yet
}

// Open opens the terminal of the process, at which no yes counts that comes within the pace. It is an error if the
// process has none.
func Open(pace time.Duration) (*Terminal, error) {
	d, err := openDevice()
	if err != nil {
		return nil, fmt.Errorf("opening the terminal: %w", err)
	}
	return &Terminal{d, pace}, nil
}

// tries is how often a question is asked whose yes comes too fast.
const tries = 3

// Agrees reports whether the person says yes to a question. Once ctx has ended, no answer counts.
func (t *Terminal) Agrees(ctx context.Context, question string) (bool, error) {
	for range tries {
		if err := t.drop(); err != nil {
			return false, fmt.Errorf("dropping input of before the question: %w", err)
		}
		if _, err := fmt.Fprintf(t, "%s [y/N] ", question); err != nil {
			return false, err
		}
		asked := time.Now()
		line, err := t.line(ctx)
		if ctx.Err() != nil {
			_, _ = io.WriteString(t, "\n")
			return false, ctx.Err()
		}
		answer := strings.ToLower(strings.TrimSpace(line))
		switch {
		case err != nil || answer != "y" && answer != "yes":
			return false, nil
		case time.Since(asked) >= t.pace:
			return true, nil
		}
		if _, err := io.WriteString(t, "a yes as fast as that does not count\n"); err != nil {
			return false, err
		}
	}
	return false, nil
}

// line returns the next line, or the beginning of one and an error. It returns at the end of ctx too, though nothing
// ends the reading of a terminal on all systems: the next line is lost then.
func (t *Terminal) line(ctx context.Context) (line string, err error) {
	read := make(chan struct{})
	var text string
	var failed error
	go func() {
		defer close(read)
		text, failed = bufio.NewReader(t).ReadString('\n')
	}()
	select {
	case <-read:
		return text, failed
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
