//go:build unix

package jjbridge

import "syscall"

// writable returns nil if entries of the folder dir can be created and removed, and otherwise the reason.
func writable(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}
