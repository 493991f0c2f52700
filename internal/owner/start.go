package owner

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// logName is the name of the file that owners write their warnings to.
const logName = "log"

// maxLog is how large that file is at most when an owner begins, in bytes.
const maxLog = 1 << 20

// rotate empties the file of warnings if it is large. Only the owner may: others add that there is one.
func rotate(dir string) error {
	path := filepath.Join(dir, logName)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= maxLog {
		return nil
	}
	return errors.Join(err, os.Truncate(path, 0))
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
	if err := private(dir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
