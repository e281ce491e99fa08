//go:build !unix

package jjbridge

// writable reports whether entries of a folder can be made and removed. This system shows it only when
// it is tried.
func writable(string) error { return nil }
