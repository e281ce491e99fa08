//go:build unix

package app

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// apart starts a command in a process group of its own: what a terminal sends to ours does not
// reach it a second time.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a leader's group to end, as a terminal does.
func interrupt(leader *os.Process) error {
	if err := syscall.Kill(-leader.Pid, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return os.ErrProcessDone
}

// kill ends a leader's group at once. That it is gone is as good.
func kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
