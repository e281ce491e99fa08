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

// holding keeps a command's line from being run until it is known which process group
// it is: if this process is killed before, the line is not run at all.
type holding struct {
	began        func(leader int)
	theirs, ours *os.File // nil where nobody is told
}

// hold makes the shell wait for release. Its own end of the pipe is gone when the line runs.
func (c *command) hold(cmd *exec.Cmd) (*holding, error) {
	h := &holding{began: c.began}
	if c.began == nil {
		return h, nil
	}
	var err error
	if h.theirs, h.ours, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{h.theirs} // 3
	cmd.Args[len(cmd.Args)-1] = "read -r _ <&3 || exit; exec 3<&-; " + c.line
	return h, nil
}

// release has the line run by the leader that was started.
func (h *holding) release(leader *os.Process) {
	if h.began == nil {
		return
	}
	h.began(leader.Pid)
	_, _ = h.ours.WriteString("\n") // who was killed meanwhile reads nothing
	h.abandon()
}

// abandon closes both ends of the pipe.
func (h *holding) abandon() {
	closePipe(h.theirs)
	closePipe(h.ours)
}
