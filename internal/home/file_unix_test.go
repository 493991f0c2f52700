//go:build unix

package home_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/weir-mcp/weir/internal/home"
)

// TestReadFileOfAPipe holds that a pipe without a writer is empty at once, and that one with a writer is read to its end.
func TestReadFileOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := home.ReadFile(path); err != nil || len(text) != 0 {
		t.Errorf("%q, %v", text, err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	go func() {
		_, _ = writer.WriteString("later")
		writer.Close()
	}()
	if text, err := home.ReadFile("/dev/fd/" + strconv.Itoa(int(reader.Fd()))); err != nil || string(text) != "later" {
		t.Errorf("%q, %v", text, err)
	}
}
