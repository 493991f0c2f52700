package owner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/weir-mcp/weir/internal/socket"
)

// logName is the name of the file that the last owner wrote its warnings to.
const logName = "log"

// LogFile returns the file that the last owner of a directory wrote its warnings to.
func LogFile(dir string) string { return filepath.Join(dir, logName) }

// Owned reports whether a process owns a directory, or may own it.
func Owned(dir string) bool {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	return errors.Join(err, lock.Close()) != nil || !free
}

// ThisBuild returns the file of the running program, and its build: when that file was written.
func ThisBuild() (exe string, b Build, err error) {
	if exe, err = os.Executable(); err != nil {
		return "", b, err
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", b, err
	}
	return exe, info.ModTime().UTC(), nil
}

// Start runs a program as the owner of a directory, apart from the terminal and the process that needs it. The channel
// is closed when it has ended.
func Start(dir, exe string, args, environ []string) (<-chan struct{}, error) {
	if err := socket.Private(dir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: exe, Args: append([]string{"weir"}, args...), Dir: dir, Env: environ, Stderr: log, SysProcAttr: apart()}
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the reason is in its log
	}()
	return ended, nil
}
