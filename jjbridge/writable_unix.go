//go:build unix

package jjbridge

import "syscall"

// writable returns nil if entries of the folder dir can be created and removed. Otherwise the error is the reason.
func writable(dir string) error {
	// the bits W_OK and X_OK of access(2)
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}
