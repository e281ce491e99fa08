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

// mkdirAttempts bounds the making of folders that git, which removes empty ones,
// removes as soon as they are made.
const mkdirAttempts = 5

// heldLocks are the locks of one attempt at a transaction.
type heldLocks struct {
	reader reader
	locks  []heldLock
}

type heldLock struct {
	path string   // of the ref; the lock's is path + lockSuffix
	file *os.File // nil when closed
	made bool     // the ref's folder was made for it
}

// take creates the lock of a ref and writes content into it. The error is a
// *heldError when somebody else has the lock.
func (h *heldLocks) take(name Name, content string) error {
	path := h.reader.path(name)
	file, made, err := createLock(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w of %s: %w", ErrObstructed, name, err)
	}
	if err != nil {
		return err
	}
	h.locks = append(h.locks, heldLock{path: path, file: file, made: made})
	_, err = file.WriteString(content + "\n")
	return err
}

// createLock creates the lock of the ref that is kept in path, and its folder.
func createLock(path string) (file *os.File, made bool, err error) {
	for range mkdirAttempts {
		file, err = os.OpenFile(path+lockSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil, made, &heldError{path + lockSuffix}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return file, made, err
		}
		made = true
		// A folder that git removes while it is being made is said to exist.
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, made, err
		}
	}
	return nil, made, &heldError{path + lockSuffix}
}

// finish closes the locks. If fsync is set it puts them on stable storage before,
// all at once: file systems join what is asked of them at the same time.
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

func (h *heldLocks) sync() error {
	errs := make(chan error, len(h.locks))
	for _, lock := range h.locks[1:] {
		go func() { errs <- lock.file.Sync() }()
	}
	first := h.locks[0]
	err := first.file.Sync()
	if first.made { // with the first tip of a repository, the folder around it is new, too
		folder := filepath.Dir(filepath.Dir(first.path))
		err = errors.Join(err, fsx.SyncDir(folder), fsx.SyncDir(filepath.Dir(folder)))
	}
	for range h.locks[1:] {
		err = errors.Join(err, <-errs)
	}
	return err
}

// commit renames the locks to their refs, in order, and calls between before each
// but the first.
func (h *heldLocks) commit(between func() error) error {
	for first := true; len(h.locks) > 0; first = false {
		if !first {
			if err := between(); err != nil {
				return err
			}
		}
		path := h.locks[0].path
		if err := os.Rename(path+lockSuffix, path); err != nil {
			return err
		}
		h.locks = h.locks[1:]
	}
	return nil
}

// release removes the locks that were not renamed.
func (h *heldLocks) release() error {
	var err error
	for _, lock := range h.locks {
		if lock.file != nil {
			err = errors.Join(err, lock.file.Close())
		}
		err = errors.Join(err, os.Remove(lock.path+lockSuffix))
	}
	return err
}
