//go:build !unix

package engine

import (
	"os"
	"os/exec"
)

// ownGroup does nothing, because the system has no process groups. A command's children are therefore never ended.
func ownGroup(*exec.Cmd) {}

// terminateGroup kills the leader, because the system has no signal that asks a process to end. The leader's children
// keep running.
func terminateGroup(leader *os.Process) error { return leader.Kill() }

// killGroup kills the leader. The leader's children keep running. killGroup ignores the error, because the leader may
// be gone.
func killGroup(leader *os.Process) { _ = leader.Kill() }

// endGroup does nothing, because the system has no process groups. Processes that the command left behind keep
// running.
func (c *command) endGroup(*os.Process) {}

// lineGate is empty, because there is no process group to record.
type lineGate struct{}

// hold returns an empty gate and does not delay the command. c.began is never called, because there is no process
// group to record.
func (c *command) hold(*exec.Cmd) (lineGate, error) { return lineGate{}, nil }

// release does nothing, because hold has not made the command wait.
func (lineGate) release(*os.Process) {}

// abandon does nothing, because an empty gate holds no files.
func (lineGate) abandon() {}
