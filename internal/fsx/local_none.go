//go:build !linux && !darwin

package fsx

// IsLocal returns false: which file systems of this system belong to the machine alone is not known.
func IsLocal(string) bool { return false }

// Inode returns false: which file systems of this system keep inodes is not known.
func Inode(string) (uint64, bool) { return 0, false }
