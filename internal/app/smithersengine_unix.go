//go:build unix

package app

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// apart makes the command cmd start in its own process group. A signal from the terminal, such as Ctrl-C, then reaches
// only this process, which decides whether to interrupt the command.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks the process group of leader to end, as Ctrl-C at a terminal does. It returns os.ErrProcessDone if
// the group has ended.
func interrupt(leader *os.Process) error {
	if err := syscall.Kill(-leader.Pid, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return os.ErrProcessDone
}

// kill ends the process group of leader at once, with all child processes in it. It ignores errors; for example, the
// group may have ended already.
func kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
