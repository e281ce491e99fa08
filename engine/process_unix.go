//go:build unix

package engine

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// groupPoll is the interval at which endGroup checks whether a process group is gone.
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

// killGroup ends a leader's group at once. A group that is gone is fine.
func killGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// endGroup ends the remaining processes of a group whose leader is gone: TERM, and
// KILL after the grace period. It returns when nothing is left or KILL is sent.
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

// lineGate delays a command's line until the command's process group is recorded. If this process is killed before
// that, the line does not run.
type lineGate struct {
	began        func(leader int)
	theirs, ours *os.File // nil if nothing records the group
}

// hold makes the shell wait for release. The shell's end of the pipe is closed when the line runs.
func (c *command) hold(cmd *exec.Cmd) (*lineGate, error) {
	h := &lineGate{began: c.began}
	if c.began == nil {
		return h, nil
	}
	var err error
	if h.theirs, h.ours, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{h.theirs} // descriptor 3
	cmd.Args[len(cmd.Args)-1] = "read -r _ <&3 || exit; exec 3<&-; " + c.line
	return h, nil
}

// release lets the started leader run the line.
func (h *lineGate) release(leader *os.Process) {
	if h.began == nil {
		return
	}
	h.began(leader.Pid)
	_, _ = h.ours.WriteString("\n") // a killed leader reads nothing
	h.abandon()
}

// abandon closes both ends of the pipe.
func (h *lineGate) abandon() {
	closePipe(h.theirs)
	closePipe(h.ours)
}
