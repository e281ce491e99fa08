//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Detach makes a command, before it is started, outlive this process and its terminal: it gets a session of its own. Its streams are
// nobody's unless they are set.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
