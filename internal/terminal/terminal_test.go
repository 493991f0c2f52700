package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A script is a terminal at which somebody types a line for each question, and has typed before the first.
type script struct {
	before string
	lines  []string
	shown  strings.Builder
}

func (s *script) Write(p []byte) (int, error) {
	s.shown.Write(p)
	if strings.HasSuffix(string(p), "[y/N] ") && len(s.lines) > 0 {
		s.before, s.lines = s.before+s.lines[0], s.lines[1:]
	}
	return len(p), nil
}

func (s *script) Read(p []byte) (int, error) {
	if s.before == "" {
		return 0, io.EOF
	}
	n := copy(p, s.before)
	s.before = s.before[n:]
	return n, nil
}

func (s *script) Close() error { return nil }

func (s *script) drop() error {
	s.before = ""
	return nil
}

func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string
		lines  []string
		pace   time.Duration
		asked  int
		want   bool
	}{
		{"yes", "", []string{"yes\n"}, 0, 1, true},
		{"y in a console", "", []string{"Y\r\n"}, 0, 1, true},
		{"no", "", []string{"n\n"}, 0, 1, false},
		{"nothing", "", nil, 0, 1, false},
		{"a yes without the end of its line", "", []string{"y"}, 0, 1, false},
		{"typed before", "y\ny\n", []string{"n\n"}, 0, 1, false},
		{"too fast, each time", "", []string{"y\n", "y\n", "y\n", "y\n"}, time.Hour, tries, false},
		{"too fast, and thought better of", "", []string{"y\n", "n\n"}, time.Hour, 2, false},
		{"one paste of all answers", "", []string{"y\ny\ny\ny\n"}, time.Hour, 2, false},
		{"no, at once", "", []string{"n\n"}, time.Hour, 1, false},
	} {
		s := &script{before: c.before, lines: c.lines}
		got, err := (&Terminal{s, c.pace}).Agrees(t.Context(), "Allow it?")
		if asked := strings.Count(s.shown.String(), "Allow it? [y/N] "); got != c.want || err != nil || asked != c.asked {
			t.Errorf("%s: %v, %v, asked %d times, want %v, asked %d times", c.name, got, err, asked, c.want, c.asked)
		}
	}
}

// A silent terminal shows questions, and nobody types before its end.
type silent struct {
	script
	left chan struct{}
}

func (s *silent) Read([]byte) (int, error) {
	<-s.left
	return 0, io.EOF
}

// TestAgreesToNothingBehindTheEnd ends a question while it waits for its answer, and before a yes.
func TestAgreesToNothingBehindTheEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	s := &silent{left: make(chan struct{})}
	defer close(s.left)
	time.AfterFunc(time.Millisecond, end)
	if ok, err := (&Terminal{s, 0}).Agrees(ctx, "Allow it?"); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("ended while it waits: %v, %v", ok, err)
	}
	if ok, err := (&Terminal{&script{lines: []string{"y\n"}}, 0}).Agrees(ctx, "Allow it?"); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("a yes behind the end: %v, %v", ok, err)
	}
}
