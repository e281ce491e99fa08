//go:build !unix

package engine

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where there are no process groups: only the command's own
// process is ended there, not what it started.
func ownGroup(*exec.Cmd) {}

func terminateGroup(leader *os.Process) error { return leader.Kill() }

func killGroup(leader *os.Process) { _ = leader.Kill() }

func (c *command) endGroup(*os.Process) {}

// holding is of no use where groups cannot be known again.
type holding struct{}

func (c *command) hold(*exec.Cmd) (holding, error) { return holding{}, nil }

func (holding) release(*os.Process) {}

func (holding) abandon() {}
