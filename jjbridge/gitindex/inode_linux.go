package gitindex

import (
	"io/fs"
	"syscall"
	"time"
)

// inodeOf returns when the inode of a file changed, and its number.
func inodeOf(info fs.FileInfo) (changed time.Time, inode uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, 0, false
	}
	return time.Unix(stat.Ctim.Unix()), stat.Ino, true
}
