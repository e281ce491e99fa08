//go:build unix

package notify

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the processes in the leader's group.
func killGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
