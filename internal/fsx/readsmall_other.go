//go:build !unix

package fsx

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// ReadSmall reads the beginning of the file at path into buf and returns the number of bytes read. It ignores the bytes
// of the file that do not fit into buf. Unlike the version for Unix, it uses only portable calls.
func ReadSmall(path string, buf []byte) (int, error) {
	f, err := OpenShared(path, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, errors.Join(err, f.Close())
}

// openFile opens a regular file as os.OpenFile does.
func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}
