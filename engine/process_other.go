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
