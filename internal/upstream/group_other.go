//go:build !unix

package upstream

import (
	"os"
	"os/exec"
)

// Without process groups only the child itself can be ended; there is no signal that asks it to.

// OwnGroup does nothing here.
func OwnGroup(*exec.Cmd) {}

// TerminateGroup does nothing here.
func TerminateGroup(*os.Process) {}

// KillGroup kills the process.
func KillGroup(p *os.Process) { _ = p.Kill() }

func endWithUs(*os.Process) (end func(), err error) { return func() {}, nil }
