//go:build unix

package app

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// apart makes a command start in its own process group, so that a signal from the terminal does not also reach it
// directly.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks the process group of leader to end, as Ctrl-C at a terminal does. It returns os.ErrProcessDone if
// the group has ended.
func interrupt(leader *os.Process) error {
	if err := syscall.Kill(-leader.Pid, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return os.ErrProcessDone
}

// kill ends the process group of leader at once. A group that has already ended is not an error.
func kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
