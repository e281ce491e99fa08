//go:build unix

package gitexec

import (
	"os"
	"os/exec"
	"syscall"
)

// terminate asks a process to end. git removes its lock files then.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// stopped reports whether a process was asked to end and did so at once.
func stopped(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGTERM)
}

// setApart makes a process the leader of a group of its own.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
