package fsx

import "golang.org/x/sys/unix"

// IsLocal reports whether the path is on APFS, which belongs to this machine alone. It returns false for all other file systems, and
// if the path cannot be inspected.
func IsLocal(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && unix.ByteSliceToString(stat.Fstypename[:]) == "apfs"
}

// Inode returns the inode of a file or folder. It returns false on file systems that are not local.
func Inode(path string) (uint64, bool) {
	var stat unix.Stat_t
	if !IsLocal(path) {
		return 0, false
	}
	err := unix.Stat(path, &stat)
	return stat.Ino, err == nil
}
