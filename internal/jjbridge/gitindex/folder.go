package gitindex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
)

// lockPoll is the time between two attempts to take a held lock.
const lockPoll = 5 * time.Millisecond

// Folder is the private folder of one working copy, locked against every other process and goroutine. The files of
// the last capture make the next capture cheap:
//
//	tracked    a copy of the user's index, in which git records the state of the files
//	changed    an index of the captured files that may differ from the user's index
//	index      the index with which a restore changes files
//	state      the sources of the files above; see State
//	lock       the lock
//	objects-*  quarantines; see Quarantine
//
// If one of these files is damaged or missing, the next capture or restore makes it anew. Only captures and restores
// use the folder, so the user's own git never waits for the lock.
type Folder struct {
	Dir  string // the path of the folder
	lock *flock.Flock
}

// Lock waits until no other process or goroutine uses the folder at dir, and returns the locked folder. It creates
// the folder if necessary, and removes the unfinished files and quarantines of dead processes. If ctx ends first,
// Lock returns an error. The caller must unlock the folder.
func Lock(ctx context.Context, dir string) (*Folder, error) {
	f := &Folder{Dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o666))}
	_, err := f.lock.TryLockContext(ctx, lockPoll)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		_, err = f.lock.TryLockContext(ctx, lockPoll)
	}
	if err == nil {
		err = f.clear()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the private index cannot be used: %w", err), f.lock.Close())
	}
	return f, nil
}

// Unlock releases the lock of the folder. The caller must not use the folder afterwards.
func (f *Folder) Unlock() error { return f.lock.Close() }

// IndexPath returns the path of the index with which files are restored. The file may be missing.
func (f *Folder) IndexPath() string { return filepath.Join(f.Dir, "index") }

// ChangedPath returns the path of the index of changed files. The file may be missing.
func (f *Folder) ChangedPath() string { return filepath.Join(f.Dir, "changed") }

// TrackedPath returns the path of the copy of the user's index. The file may be missing.
func (f *Folder) TrackedPath() string { return filepath.Join(f.Dir, "tracked") }

// clear removes the files that dead processes have left in the folder: quarantines, git's lock files and unfinished
// files. The caller must have locked f. A quarantine stays if a live process uses it, or if it cannot be removed. If
// another file cannot be removed, clear returns the error.
func (f *Folder) clear() error {
	files, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := file.Name()
		switch {
		case strings.HasPrefix(name, quarantinePrefix):
			removeStaleQuarantine(filepath.Join(f.Dir, name))
		case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, Unfinished):
			if err := os.Remove(filepath.Join(f.Dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Unfinished is the suffix of the name of a file until it is complete and renamed. Lock removes files with
// this suffix.
const Unfinished = ".new"

// replace writes data to the file at path. It writes a second file and renames it, so that a reader sees the
// complete old data or the complete new data.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+Unfinished, data, 0o666); err != nil {
		return err
	}
	return os.Rename(path+Unfinished, path)
}
