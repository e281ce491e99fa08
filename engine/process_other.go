//go:build !unix

package engine

import (
	"os"
	"os/exec"
)

// ownGroup does nothing, because the system has no process groups. A command's children are therefore never ended.
func ownGroup(*exec.Cmd) {}

// terminateGroup kills the leader, because the system has no signal that asks a process to end.
func terminateGroup(leader *os.Process) error { return leader.Kill() }

// killGroup kills the leader. It ignores the error, because the leader may be gone.
func killGroup(leader *os.Process) { _ = leader.Kill() }

// endGroup does nothing, because the system has no process groups.
func (c *command) endGroup(*os.Process) {}

// lineGate is empty, because a process group cannot be identified later.
type lineGate struct{}

// hold returns an empty gate and does not delay the command.
func (c *command) hold(*exec.Cmd) (lineGate, error) { return lineGate{}, nil }

// release does nothing.
func (lineGate) release(*os.Process) {}

// abandon does nothing.
func (lineGate) abandon() {}
