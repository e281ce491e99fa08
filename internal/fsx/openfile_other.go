//go:build !windows

package fsx

import (
	"errors"
	"io"
	"os"
)

// RemoveHeld removes what the file or the lock held protects, and then closes held: in the other order, another process could take what is being removed
// for free.
func RemoveHeld(held io.Closer, remove func() error) error {
	err := remove()
	return errors.Join(err, held.Close())
}

// RenameOpen moves an open file to another name, where it replaces a file, and returns the file, open for writing at its end. If it fails, file is still to
// be closed.
func RenameOpen(file *os.File, to string) (*os.File, error) {
	if err := os.Rename(file.Name(), to); err != nil {
		return nil, err
	}
	return file, nil
}

// OpenShared opens an existing file as os.OpenFile does, so that others can remove and replace it meanwhile.
func OpenShared(path string, flag int) (*os.File, error) { return openFile(path, flag, 0) }
