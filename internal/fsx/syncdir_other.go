//go:build !windows

package fsx

import (
	"errors"
	"os"
)

// SyncDir puts the entries of a folder on stable storage. It covers every entry that was created, renamed or removed
// in the folder before the call.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
