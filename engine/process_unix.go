//go:build unix

package engine

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// groupPoll is how often endGroup looks whether a process group is gone.
const groupPoll = 5 * time.Millisecond

// ownGroup makes a command the leader of a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks a leader's group to end.
func terminateGroup(leader *os.Process) error {
	err := syscall.Kill(-leader.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// killGroup ends a leader's group at once. That it is gone is as good.
func killGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// endGroup ends what is left of the group of a leader that is gone: TERM, and
// after the grace KILL. It returns when nothing is left, or KILL is sent.
func (c *command) endGroup(leader *os.Process) {
	if terminateGroup(leader) != nil {
		return
	}
	poll := time.NewTicker(groupPoll)
	defer poll.Stop()
	grace, over := c.startGrace()
	defer over()
	for {
		select {
		case <-poll.C:
			if syscall.Kill(-leader.Pid, 0) != nil {
				return
			}
		case <-grace.Done():
			killGroup(leader)
			return
		}
	}
}
