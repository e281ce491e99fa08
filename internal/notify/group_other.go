//go:build !unix

package notify

import (
	"os"
	"os/exec"
)

// ownGroup does nothing on this system.
func ownGroup(*exec.Cmd) {}

// killGroup kills the leader alone.
func killGroup(leader *os.Process) { _ = leader.Kill() }
