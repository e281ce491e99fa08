package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace replaces the content of the file at path, and returns after the content is on stable storage. Another process
// sees either the old or the new content. Replace creates missing folders. The file gets the permissions mode. After an
// error, the file is unchanged, or it has the new content.
func Replace(path string, data []byte, mode fs.FileMode) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return SyncDir(folder)
}
