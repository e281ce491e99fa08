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

// terminateGroup sends TERM to the leader's process group. If the group is gone, it returns os.ErrProcessDone. If the
// signal cannot be sent, it returns the system's error.
func terminateGroup(leader *os.Process) error {
	err := syscall.Kill(-leader.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// killGroup sends KILL to the leader's process group. It ignores the error, because the group may be gone.
func killGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// endGroup ends the remaining processes of a group whose leader is gone. It sends TERM, and KILL after the grace
// period. It returns when the group is gone or KILL is sent.
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
			if syscall.Kill(-leader.Pid, 0) != nil { // signal 0 only checks whether the group exists
				return
			}
		case <-grace.Done():
			killGroup(leader)
			return
		}
	}
}

// lineGate delays a command's line until the command's process group is recorded. If this process is killed before
// the record is written, the line does not run.
type lineGate struct {
	began        func(leader int)
	theirs, ours *os.File // the ends of the pipe for which the shell waits; nil if began is nil
}

// hold changes cmd so that the shell waits for the method release of the returned gate before it runs the command's
// line. If c.began is nil, hold does not change cmd, and the shell does not wait. The shell closes its end of the
// pipe before the line, so the line's descriptor 3 is free.
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
	cmd.Args[2] = "read -r _ <&3 || exit; exec 3<&-; " + c.line
	return h, nil
}

// release records the group of the started leader, and then makes the waiting leader run the line. It does nothing if
// hold did not make the shell wait.
func (h *lineGate) release(leader *os.Process) {
	if h.began == nil {
		return
	}
	h.began(leader.Pid)
	_, _ = h.ours.WriteString("\n") // the write fails if the leader was killed, which Wait reports
	h.abandon()
}

// abandon closes both ends of the pipe. A shell that still waits then ends without running the line.
func (h *lineGate) abandon() {
	closePipe(h.theirs)
	closePipe(h.ours)
}
