//go:build !unix

package gitexec

import (
	"os"
	"os/exec"
)

// terminate ends a process. It cannot ask the process to end by itself.
func terminate(p *os.Process) error { return p.Kill() }

// stopped returns false, because nothing shows what has ended a process.
func stopped(*os.ProcessState) bool { return false }

// setApart does nothing, because signals go to a single process.
func setApart(*exec.Cmd) {}
