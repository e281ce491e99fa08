//go:build !linux

package fsx

// Datasync puts a file on stable storage.
func Datasync(f File) error { return f.Sync() }
