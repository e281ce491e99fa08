//go:build !unix

package engine

import (
	"os"
	"os/exec"
)

// ownGroup does nothing, because the system has no process groups: only the command's own
// process is ended, not its children.
func ownGroup(*exec.Cmd) {}

func terminateGroup(leader *os.Process) error { return leader.Kill() }

func killGroup(leader *os.Process) { _ = leader.Kill() }

func (c *command) endGroup(*os.Process) {}

// lineGate is empty, because process groups cannot be identified later.
type lineGate struct{}

func (c *command) hold(*exec.Cmd) (lineGate, error) { return lineGate{}, nil }

func (lineGate) release(*os.Process) {}

func (lineGate) abandon() {}
