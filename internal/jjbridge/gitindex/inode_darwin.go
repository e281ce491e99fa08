package gitindex

import (
	"io/fs"
	"syscall"
	"time"
)

// inodeOf returns the time at which the inode of a file last changed, and the number of the inode. info
// describes the file. ok is false if info has no inode.
func inodeOf(info fs.FileInfo) (changed time.Time, inode uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, 0, false
	}
	return time.Unix(stat.Ctimespec.Unix()), stat.Ino, true
}
