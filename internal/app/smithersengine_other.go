//go:build !unix

package app

import (
	"os"
	"os/exec"
)

// apart does nothing, because this system has no process groups.
func apart(*exec.Cmd) {}

// interrupt ends a process at once, because this system has no signal that asks a process to end.
func interrupt(p *os.Process) error { return p.Kill() }

// kill ends the process p at once. Its child processes survive, unlike on Unix. kill ignores errors.
func kill(p *os.Process) { _ = p.Kill() }
