//go:build unix

package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup makes the command lead a process group of its own.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// TerminateGroup asks every process of the group that p leads to exit.
func TerminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// KillGroup kills every process of the group that p leads.
func KillGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// orphaned is a shell script that waits for the end of its input and then ends its process group as Close would. Its
// input ends when the process at the other end does, however that came.
const orphaned = `trap '' TERM; read -r _; sleep 2; kill -TERM 0; sleep 2; kill -KILL 0`

// endWithUs has the group that p leads ended when this process is killed and can end it no more. The shell that sees to
// it belongs to the group and ends with it; end waits for that.
func endWithUs(p *os.Process) (end func(), err error) {
	shell := exec.Command("/bin/sh", "-c", orphaned)
	shell.Env = []string{"PATH=/usr/bin:/bin"}
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.Pid}
	if _, err := shell.StdinPipe(); err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("starting the shell that ends orphans: %w", err)
	}
	return func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
	}, nil
}
