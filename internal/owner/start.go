package owner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// logName is the name of the file that the last owner wrote its warnings to.
const logName = "log"

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
