package refs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// mkdirAttempts is the maximum number of attempts to make a folder. git may remove an empty folder at any
// time.
const mkdirAttempts = 5

// heldLocks holds the locks of one attempt at a transaction, in the order of its updates.
type heldLocks struct {
	fs     fsx.FS
	reader reader
	locks  []heldLock
}

type heldLock struct {
	name Name
	path string   // the path of the ref's file; the lock's path is path + lockSuffix
	file fsx.File // the open lock; nil after it was closed
}

// take creates the lock of a ref and writes content and a line feed into it. If another process holds the
// lock, the error is a *heldError. If a file has the name of one of the ref's folders, the error wraps
// ErrObstructed.
func (h *heldLocks) take(name Name, content string) error {
	path := h.reader.path(name)
	file, err := h.createLock(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w of %s: %w", ErrObstructed, name, err)
	}
	if err != nil {
		return err
	}
	h.locks = append(h.locks, heldLock{name: name, path: path, file: file})
	_, err = file.Write([]byte(content + "\n"))
	return err
}

// createLock creates the lock of the ref at path, and the folder of the ref if it is missing. If the lock
// exists, or if the folder keeps disappearing, the error is a *heldError.
func (h *heldLocks) createLock(path string) (file fsx.File, err error) {
	for range mkdirAttempts {
		file, err = h.fs.OpenFile(path+lockSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil, &heldError{path + lockSuffix}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		// If git removes the folder while MkdirAll makes it, MkdirAll fails with ErrExist.
		if err := h.fs.MkdirAll(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, &heldError{path + lockSuffix}
}

// finish closes the files of the locks. If fsync is true, it first puts the locks on stable storage, in
// parallel, because file systems combine parallel requests.
func (h *heldLocks) finish(fsync bool) error {
	var err error
	if fsync {
		err = h.sync()
	}
	for i := range h.locks {
		err = errors.Join(err, h.locks[i].file.Close())
		h.locks[i].file = nil
	}
	return err
}

// sync puts the locks on stable storage, and the folders that may be new. The folder of a frame ref need not
// be durable unless the frame is the first update.
func (h *heldLocks) sync() error {
	errs := make(chan error, len(h.locks))
	var created []Update
	for i, lock := range h.locks {
		go func() { errs <- lock.file.Sync() }()
		if i > 0 && lock.name.isFrame() {
			continue
		}
		// If the ref has a file, its folders are durable already. Otherwise they may be new, and the process
		// that made them may have died.
		if _, err := os.Lstat(lock.path); err != nil {
			created = append(created, Update{Name: lock.name})
		}
	}
	err := syncFolders(h.fs, h.reader.foldersAbove(created))
	for range h.locks {
		err = errors.Join(err, <-errs)
	}
	return err
}

// commit renames the locks to their refs, in order. It calls between before each rename except the first. At
// the first error it stops; the locks that remain in h are not renamed.
func (h *heldLocks) commit(between func() error) error {
	for first := true; len(h.locks) > 0; first = false {
		if !first {
			if err := between(); err != nil {
				return err
			}
		}
		path := h.locks[0].path
		if err := h.fs.Rename(path+lockSuffix, path); err != nil {
			return err
		}
		h.locks = h.locks[1:]
	}
	return nil
}

// release closes and removes the locks that were not renamed.
func (h *heldLocks) release() error {
	var err error
	for _, lock := range h.locks {
		if lock.file != nil {
			err = errors.Join(err, lock.file.Close())
		}
		err = errors.Join(err, h.fs.Remove(lock.path+lockSuffix))
	}
	return err
}
