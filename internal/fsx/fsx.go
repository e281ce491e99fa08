// Package fsx has the functions of the file system that the core needs beyond package os.
package fsx

import (
	"errors"
	"os"
)

// SyncDir puts a directory's entries on stable storage: everything that was created, renamed or
// removed in it before the call.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
