//go:build !linux

// Package attach has one process decide for the weir wraps of one host, on Linux. Elsewhere every wrap decides by
// itself.
package attach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/upstream"
)

// ErrAlone says that nothing was read or written: the wrap can decide by itself.
var ErrAlone = errors.New("no process can be shared")

// MaxHeard is how long the label that a wrap keeps may be, in bytes.
const MaxHeard = 32 << 10

// A Wrap is the side of weir wrap.
type Wrap struct {
	Host   func() (io.ReadCloser, io.Writer)
	Stderr *os.File
	Start  func() (*upstream.LocalChild, error)
	Log    *slog.Logger
}

// Run returns [ErrAlone].
func Run(context.Context, *owner.Client, json.RawMessage, Wrap) (int, error) { return 0, ErrAlone }

// A Guest is a weir wrap that an owner serves: there is none.
type Guest struct {
	Stdin, Stdout, Stderr *os.File
	PID                   int
	Heard                 []byte
}

// Accept returns [ErrAlone].
func Accept(*net.UnixConn) (*Guest, error) { return nil, ErrAlone }

// Keep returns [ErrAlone].
func (g *Guest) Keep([]byte) error { return ErrAlone }

// Close does nothing.
func (g *Guest) Close() {}

// Serve returns [ErrAlone].
func (g *Guest) Serve(context.Context, func(context.Context) int) error { return ErrAlone }

// Start returns [ErrAlone].
func (g *Guest) Start() (upstream.Child, error) { return nil, ErrAlone }

// Key returns [ErrAlone].
func Key(owner.Build, int, []string) (string, error) { return "", ErrAlone }

// Check returns [ErrAlone].
func Check(*net.UnixConn, owner.Build, string, []string) error { return ErrAlone }
