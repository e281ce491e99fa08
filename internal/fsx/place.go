package fsx

import (
	"path/filepath"
	"strconv"
)

// Mark returns a text by which a folder is known again, on this machine, as long as it is not copied: its inode or, where inodes may change,
// its absolute path.
func Mark(folder string) string {
	if inode, ok := Inode(folder); ok {
		return strconv.FormatUint(inode, 10)
	}
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	if at, err := filepath.Abs(folder); err == nil {
		folder = at
	}
	return folder
}
