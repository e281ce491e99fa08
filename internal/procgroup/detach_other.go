//go:build !unix

package procgroup

import "os/exec"

// Detach does nothing on this system: a command that is not waited for goes on by itself.
func Detach(*exec.Cmd) {}
