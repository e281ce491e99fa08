//go:build !unix

package gitexec

import (
	"os"
	"os/exec"
)

// terminate ends a process; there is no way to ask it.
func terminate(p *os.Process) error { return p.Kill() }

// stopped is false: nothing tells what ended a process.
func stopped(*os.ProcessState) bool { return false }

// setApart does nothing: signals are for one process.
func setApart(*exec.Cmd) {}
