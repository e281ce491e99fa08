package fsx

import (
	"slices"

	"golang.org/x/sys/unix"
)

// localTypes are the file systems of one machine, on which every process sees every lock and every rename at once.
var localTypes = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1, // zfs
}

// IsLocal reports whether the path is on a file system that is known to belong to this machine alone. It returns false for network
// file systems, for unknown ones, and if the path cannot be inspected.
func IsLocal(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && slices.Contains(localTypes, int64(stat.Type)) //nolint:unconvert // some machines have 32 bits there
}

// Inode returns the inode of a file or folder. It returns false where inodes may change when the machine starts again: on file systems that
// are not known to be local, and on overlays of containers.
func Inode(path string) (uint64, bool) {
	var of unix.Statfs_t
	var stat unix.Stat_t
	if !IsLocal(path) || unix.Statfs(path, &of) != nil || int64(of.Type) == unix.OVERLAYFS_SUPER_MAGIC { //nolint:unconvert // as above
		return 0, false
	}
	err := unix.Stat(path, &stat)
	return stat.Ino, err == nil
}
