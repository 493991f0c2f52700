// Package home knows where Weir keeps its files for one user: state, sockets, anchors of logs, logins and confirmed
// folders. The environment of the process decides about the places; a caller hands it in as an [Env], so that nothing
// below the command line reads variables of the process itself.
//
//	dir, err := env.StateDir()
package home

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Env holds the streams and variables of a process, which may be another one that is decided for, and knows the places
// of its files.
type Env struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // NAME=value; the last of a name counts

	Standard [3]*os.File // the standard streams of this process itself; nil: the others are not they

	Dir string // the working directory; "" is that of this process
	PID int    // the process; zero is this one
}

// WorkDir returns the working directory.
func (e *Env) WorkDir() (string, error) {
	if e.Dir != "" {
		return e.Dir, nil
	}
	return filepath.Abs(".")
}

// Process returns the id of the process.
func (e *Env) Process() int {
	if e.PID != 0 {
		return e.PID
	}
	return os.Getpid()
}

// Getenv returns the value of a variable and whether it is set.
func (e *Env) Getenv(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if n, v, ok := strings.Cut(e.Environ[i], "="); ok && n == name {
			return v, true
		}
	}
	return "", false
}

// Person names the user who runs the command.
func (e *Env) Person() string {
	if name, _ := e.Getenv("USER"); name != "" {
		return name
	}
	return fmt.Sprint("uid ", os.Getuid())
}

// IsTerminal reports whether w is a terminal, or says that it writes to one.
func IsTerminal(w io.Writer) bool {
	if to, ok := w.(interface{ IsTerminal() bool }); ok {
		return to.IsTerminal()
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
