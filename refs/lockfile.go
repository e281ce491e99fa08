package refs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	format *formatWatch
	locks  []heldLock
}

// newLocks returns the locks of a new attempt, of which none is held yet.
func (db *DB) newLocks() *heldLocks {
	return &heldLocks{fs: db.opts.FS, reader: db.reader, format: &db.format}
}

// heldLock is the lock of one ref, which this process holds.
type heldLock struct {
	name    Name
	path    string   // the path of the ref's file; the path of the lock file is path + lockSuffix
	content string   // without the final line feed
	file    fsx.File // nil when closed, or if the lock is a link to an earlier lock
}

// take creates the lock file of a ref, and adds the lock to h. content is the text of the lock file. If an earlier lock
// in h has the same text, the lock file of a frame ref is a hard link to the earlier lock file, unless the file system
// refuses the link. If another process holds the lock, the error is a *heldError. If the name of another ref is a
// folder of name, the error wraps ErrObstructed.
func (h *heldLocks) take(name Name, content string) error {
	path := h.reader.path(name)
	linked, err := h.linkLock(name, path, content)
	var file fsx.File
	if err == nil && !linked {
		file, err = h.createLock(path)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w of %s: %w", ErrObstructed, name, err)
	}
	if err != nil {
		return err
	}
	h.locks = append(h.locks, heldLock{name: name, path: path, content: content, file: file})
	if linked {
		return nil
	}
	_, err = file.Write([]byte(content + "\n"))
	return err
}

// linkLock makes the lock of a frame ref a hard link to an earlier lock with the same content (decision 42). path is
// the path of the ref's file. If name is not a frame ref, if there is no such lock, or if the file system refuses the
// link, linked is false without an error. Then linkLock has made no lock. If another process holds the lock, the
// error is a *heldError.
func (h *heldLocks) linkLock(name Name, path, content string) (linked bool, err error) {
	at := slices.IndexFunc(h.locks, func(l heldLock) bool { return l.file != nil && l.content == content })
	if at < 0 || !name.isFrame() {
		return false, nil
	}
	from, to := h.locks[at].path+lockSuffix, path+lockSuffix
	err = h.makeLock(path, func() error { return h.fs.Link(from, to) })
	var held *heldError
	switch {
	case err == nil, errors.As(err, &held) && isSameFile(from, to):
		return true, nil // NFS may report that a link exists when it has just made the link
	case held != nil, errors.Is(err, syscall.ENOTDIR):
		return false, err
	default:
		return false, nil // the file system refuses the link; if the disk itself fails, createLock fails too
	}
}

// isSameFile reports whether the paths a and b name one file. It returns false if either file is missing or cannot be
// read.
func isSameFile(a, b string) bool {
	first, err1 := os.Lstat(a)
	second, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// createLock creates the lock file of the ref at path, and its folder if necessary. The errors are those of makeLock.
func (h *heldLocks) createLock(path string) (file fsx.File, err error) {
	err = h.makeLock(path, func() (err error) {
		file, err = h.fs.OpenFile(path+lockSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	return file, err
}

// makeLock calls create, which must create the lock file of the ref at path. If the folder of the lock file is
// missing, makeLock makes the folder and calls create again. If the lock file exists, another process holds the lock,
// and the error is a *heldError. The error is also a *heldError if git removes the folder mkdirAttempts times in a
// row.
func (h *heldLocks) makeLock(path string, create func() error) error {
	for range mkdirAttempts {
		err := create()
		if errors.Is(err, fs.ErrExist) {
			return &heldError{path + lockSuffix}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := h.format.check(); err != nil { // a folder below refs would be in git's way
			return err
		}
		// If git removes the folder while MkdirAll makes it, MkdirAll fails with ErrExist.
		if err := h.fs.MkdirAll(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return &heldError{path + lockSuffix}
}

// finish closes the files of the locks. If fsync is true, it first puts the locks on stable storage, in
// parallel, because file systems combine parallel requests. names is as in sync.
func (h *heldLocks) finish(fsync, names bool) error {
	var err error
	if fsync {
		err = h.sync(names)
	}
	for i := range h.locks {
		if h.locks[i].file != nil {
			err = errors.Join(err, h.locks[i].file.Close())
			h.locks[i].file = nil
		}
	}
	return err
}

// sync puts the bytes of the locks on stable storage and, if names is true, their new folders. It skips the folder of a frame ref, unless the frame
// ref is the first update, because a frame ref can be recreated from a tip.
func (h *heldLocks) sync(names bool) error {
	errs, files := make(chan error, len(h.locks)), 0
	var created []Update
	for i, lock := range h.locks {
		if lock.file != nil { // a link shares the bytes of another lock
			files++
			go func() { errs <- lock.file.Sync() }()
		}
		if !names || i > 0 && lock.name.isFrame() {
			continue
		}
		// If the ref has a file, its folders are durable already. Otherwise they may be new, and the process
		// that made them may have died.
		if _, err := os.Lstat(lock.path); err != nil {
			created = append(created, Update{Name: lock.name})
		}
	}
	err := syncFolders(h.fs, h.reader.foldersAbove(created))
	for range files {
		err = errors.Join(err, <-errs)
	}
	return err
}

// commit renames the lock files to the files of their refs, in order, and removes each renamed lock from h. It calls
// between before each rename except the first. At the first error, it stops and leaves the other locks in h.
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

// release closes and removes the lock files of the locks that are still in h.
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
