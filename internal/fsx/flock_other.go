//go:build !unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// TryLock returns an error: this system has no flock.
func TryLock(f *os.File, _ bool) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}

// Unlock does nothing.
func Unlock(*os.File) error { return nil }

// Links returns 1, because the system does not count the names of a file.
func Links(fs.FileInfo) int { return 1 }
