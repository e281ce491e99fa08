//go:build !linux && !darwin

package gitindex

import (
	"io/fs"
	"time"
)

// inodeOf returns zero values and false, because this system does not report inodes.
func inodeOf(fs.FileInfo) (changed time.Time, inode uint64, ok bool) { return time.Time{}, 0, false }
