//go:build !unix

package jjbridge

// writable reports whether entries of a folder can be made and removed. Here the system
// says so only when it is tried.
func writable(string) error { return nil }
