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

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/objstore"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 5 * time.Millisecond

// Folder is the private folder of one working copy, locked against every other process and
// goroutine. Files that the last capture left there make the next one cheap:
//
//	index      git's index of the captured files; its tree is VCS.Tree of the capture
//	tracked    a copy of the user's index at that time: which paths are tracked
//	state      what both were made from; see State
//	lock       the lock
//	objects-*  quarantines; see Quarantine
//
// Any of these files may be damaged or missing, and is then made anew. Only captures and restores use
// them, so the user's own git never waits for the lock.
type Folder struct {
	Dir  string // its path
	lock *flock.Flock
}

// Lock makes the folder at dir if need be, waits until no other process or goroutine uses the folder,
// and removes what dead processes have left in it. The caller unlocks the folder.
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
		return nil, errors.Join(fmt.Errorf("private index: %w", err), f.lock.Close())
	}
	return f, nil
}

// Unlock lets others use the folder.
func (f *Folder) Unlock() error { return f.lock.Close() }

// IndexPath is the path of the index of the captured files, for GIT_INDEX_FILE. The file may be missing.
func (f *Folder) IndexPath() string { return filepath.Join(f.Dir, "index") }

// TrackedPath is the path of the copy of the user's index. The file may be missing.
func (f *Folder) TrackedPath() string { return filepath.Join(f.Dir, "tracked") }

// Tree returns the root tree of the index. The error wraps ErrUnreadable or fs.ErrNotExist.
func (f *Folder) Tree() (objstore.ID, error) {
	index, err := Read(f.IndexPath())
	if err != nil {
		return objstore.ID{}, err
	}
	return index.Trees().Root, nil
}

// clear removes the files of killed processes.
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

// Unfinished is the suffix of files that are being written.
const Unfinished = ".new"

// replace writes a file by renaming: readers see the old data or the new.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+Unfinished, data, 0o666); err != nil {
		return err
	}
	return os.Rename(path+Unfinished, path)
}
