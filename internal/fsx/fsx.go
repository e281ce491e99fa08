// Package fsx is what the packages of the core need of the file system beyond
// package os.
package fsx

import (
	"errors"
	"os"
)

// SyncDir puts a directory's entries on stable storage: what was created, renamed
// or removed in it before the call.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
