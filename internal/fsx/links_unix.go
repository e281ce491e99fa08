//go:build unix

package fsx

import (
	"io/fs"
	"syscall"
)

// Links returns the number of names of a file, or 1 if the system does not count them.
func Links(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}
