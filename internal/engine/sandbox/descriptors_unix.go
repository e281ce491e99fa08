//go:build unix

package sandbox

import (
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors keeps the files that this process has inherited from its own children: a descriptor of a folder would open the machine to a
// command. Files that Go opens are kept from them already, and os/exec still passes those that it is given.
func keepDescriptors() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return cannot("the open files of this process are not known, so they cannot be kept from the command")
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
