//go:build unix

package gitexec

import (
	"os"
	"os/exec"
	"syscall"
)

// terminate asks a process to end with SIGTERM. It does not wait. git removes its lock files before it ends.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// stopped reports whether SIGINT or SIGTERM ended the process with the given state.
func stopped(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGINT || status.Signal() == syscall.SIGTERM)
}

// setApart makes the process of cmd the leader of its own process group, so that Ctrl-C in a terminal does not reach
// the process.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
