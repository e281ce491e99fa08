//go:build !unix

package gitexec

import (
	"os"
	"os/exec"
)

// terminate kills a process at once, because this system has no way to ask a process to end. A killed git leaves its
// lock files behind.
func terminate(p *os.Process) error { return p.Kill() }

// stopped returns false, because this system does not show whether a signal ended a process.
func stopped(*os.ProcessState) bool { return false }

// setApart does nothing, because process groups exist only on Unix.
func setApart(*exec.Cmd) {}
