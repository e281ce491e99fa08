//go:build unix

package jjbridge

import "syscall"

// writable reports whether entries of a folder can be made and removed.
func writable(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}
