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

// holding is empty, because process groups cannot be identified later.
type holding struct{}

func (c *command) hold(*exec.Cmd) (holding, error) { return holding{}, nil }

func (holding) release(*os.Process) {}

func (holding) abandon() {}
