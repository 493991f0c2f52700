package record

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Lines writes events as JSON Lines: one event, one line, one Write.
type Lines struct {
	mu      sync.Mutex
	w       io.Writer
	encoder encoder
	err     error
}

// NewLines returns a recorder that writes to w. After a failed or short write it refuses every later event, because a
// line may be torn.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Record writes the event. It fails if an earlier one failed.
func (l *Lines) Record(_ context.Context, e *Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	line, err := l.encoder.encode(e)
	if err != nil {
		return fmt.Errorf("encoding event: %w", err)
	}
	if _, err := l.w.Write(line); err != nil {
		l.err = fmt.Errorf("writing the record: %w", err)
		return l.err
	}
	return nil
}

// OpenFile opens the record at path for appending, and makes it if it is missing: the file readable by its owner only,
// its directory too. Several processes may append to one file: each event is one write. A last line that a crash tore
// is closed with a newline, so that later lines stay readable.
func OpenFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the record's directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the record: %w", err)
	}
	if err := closeTornLine(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the record: %w", err)
	}
	return f, nil
}

func closeTornLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}
