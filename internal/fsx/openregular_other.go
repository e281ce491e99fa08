//go:build !unix

package fsx

import (
	"io/fs"
	"os"
)

// OpenRegular opens a regular file for reading. It follows no symbolic link. The error is fs.ErrInvalid if something else than a regular file is
// there.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
