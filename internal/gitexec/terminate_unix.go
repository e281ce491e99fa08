//go:build unix

package gitexec

import (
	"os"
	"syscall"
)

// terminate asks a process to end. git removes its lock files when asked.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
