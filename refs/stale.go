package refs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
)

// RecoverLocks removes the ref locks that killed processes of this program left behind. It removes no other lock. An
// incomplete lock may belong to a living process. So RecoverLocks waits for Options.Patience, and then removes the
// incomplete lock if it is unchanged. Apply removes such a lock in the same way if the lock stops Apply.
func (db *DB) RecoverLocks(ctx context.Context) error {
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	_, torn, err := db.removeStaleLocks(nil)
	if err != nil || len(torn) == 0 {
		return err
	}
	wait := newWaiter(ctx, db.opts.Patience)
	defer wait.stop()
	// The wait ends with ErrLocked when the patience has ended.
	for err == nil {
		err = wait.wait("")
	}
	if !errors.Is(err, ErrLocked) {
		return err
	}
	_, _, err = db.removeStaleLocks(torn)
	return err
}

// removeStaleLocks removes the ref locks of dead owners and their owner files. It returns the number of removed
// locks. A lock belongs to a dead owner if it has the content that the owner noted.
//
// An incomplete lock has only a part of this content. Either a dead owner left it, or a living process is still
// writing it. removeStaleLocks keeps an incomplete lock and returns it in torn, by path. seen is the result torn of
// an earlier call, or nil. If the lock is in seen and has not changed since, no process is writing it, and
// removeStaleLocks removes it.
func (db *DB) removeStaleLocks(seen map[string]fs.FileInfo) (removed int, torn map[string]fs.FileInfo, err error) {
	folder := filepath.Join(db.reader.dir, filepath.FromSlash(locksFolder))
	names, err := readNames(folder)
	if err != nil {
		return 0, nil, err
	}
	torn = make(map[string]fs.FileInfo)
	for _, name := range names {
		path := filepath.Join(folder, name)
		if own := db.files.owner; own != nil && path == own.path || !strings.Contains(name, "-") {
			continue // the owner file of this DB, or not an owner file
		}
		n, err := db.removeOwner(path, seen, torn)
		if err != nil {
			return removed, nil, err
		}
		removed += n
	}
	return removed, torn, nil
}

// removeOwner removes the locks that the owner file at path notes, and then the file. It does nothing if the owner is
// alive. It returns the number of removed locks. If an incomplete lock is left, the owner file stays. For seen and
// torn, see removeStaleLocks.
func (db *DB) removeOwner(path string, seen, torn map[string]fs.FileInfo) (removed int, err error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	dead, err := lock.TryLock()
	if err != nil || !dead {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = nil // the owner has just ended, or is a process of another user
		}
		return 0, err
	}
	// While this process holds the flock, no other process acts on the note. So the locks stay the dead owner's until
	// this process removes them.
	defer func() { err = errors.Join(err, lock.Close()) }()
	note, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, err
	}
	left := false
	if removed, err = db.removeDeadTables(path); err != nil {
		return removed, err
	}
	for _, noted := range parseNote(string(note)) {
		state, err := db.removeNoted(noted, seen, torn)
		if err != nil {
			return removed, err
		}
		removed += state.removed
		left = left || state.torn
	}
	if left {
		return removed, nil
	}
	if err := db.opts.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return removed, err
	}
	return removed, nil
}

// staleState is the result of removeNoted.
type staleState struct {
	removed int  // number of removed locks: 0 or 1
	torn    bool // the lock is incomplete and was kept, because a process may be writing it
}

// removeNoted removes the lock that a dead owner noted. It does nothing if the lock is missing or belongs to another
// program. It keeps an incomplete lock that is not in seen or has changed since, and adds the lock to torn: see removeStaleLocks.
func (db *DB) removeNoted(noted notedLock, seen, torn map[string]fs.FileInfo) (staleState, error) {
	path := db.reader.path(noted.name) + lockSuffix
	info, err := os.Lstat(path)
	if err != nil {
		if isNoFile(err) {
			err = nil
		}
		return staleState{}, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		if isNoFile(err) {
			err = nil
		}
		return staleState{}, err
	}
	want := noted.content + "\n"
	switch before := seen[path]; {
	case string(content) == want:
	case !strings.HasPrefix(want, string(content)):
		return staleState{}, nil // another program's lock
	case before == nil || !os.SameFile(before, info) || !before.ModTime().Equal(info.ModTime()):
		torn[path] = info
		return staleState{torn: true}, nil
	}
	if err := db.opts.FS.Remove(path); err != nil && !isNoFile(err) {
		return staleState{}, err
	}
	return staleState{removed: 1}, nil
}
