//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a regular file for reading. It follows no symbolic link, and does not wait for a writer if a pipe is there. The error is
// fs.ErrInvalid if something else than a regular file is there.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		_ = file.Close() // it was not read
		return nil, err
	}
	return file, nil
}
