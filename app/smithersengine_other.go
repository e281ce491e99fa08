//go:build !unix

package app

import (
	"os"
	"os/exec"
)

// apart does nothing, because there are no process groups.
func apart(*exec.Cmd) {}

// interrupt ends a process at once, because no signal asks it to end.
func interrupt(p *os.Process) error { return p.Kill() }

// kill ends a process at once.
func kill(p *os.Process) { _ = p.Kill() }
