package objstore

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// isAlive reports whether a process with this number, in decimal, may exist. In doubt it does.
func isAlive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return false
	}
	p, err := os.FindProcess(n)
	if err != nil {
		return false
	}
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
