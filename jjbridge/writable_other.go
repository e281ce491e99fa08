//go:build !unix

package jjbridge

// writable returns nil, because on this system only an attempt to write shows whether a folder is writable.
func writable(string) error { return nil }
