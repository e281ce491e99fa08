package objstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
)

// KeepMessage is the message for git index-pack --keep. A .keep file with this message counts as a .keep file of this package: if its process dies, a
// merge removes the file.
const KeepMessage = "git-smithers: refs to this pack are about to move"

const (
	tempPrefix = "unfinished-"
	// emptyFile is the name of a permanent file in the temporary directory. The .keep files of this program are
	// hard links to this file. Making a link takes a fifth of the time of creating a file, and the link shows
	// that this program made the .keep file.
	emptyFile = "empty"
	// keepText is the content of a .keep file that cannot be made as a hard link.
	keepText = KeepMessage + "\n"
	// staleTemp is the age from which a temporary file of a dead process is removed.
	staleTemp = time.Hour
	// staleKeep is the age of a pack with a .keep file from which the process that made the .keep file counts
	// as dead.
	staleKeep = 24 * time.Hour
)

// tempDir makes temporary files in a directory. The first file also makes the directory. tempDir is
// safe for concurrent use, and several processes may share the directory.
type tempDir struct {
	fs      fsx.FS
	path    string
	serial  atomic.Uint64 // number in the name of the newest file
	discard sync.Once     // runs discardStale

	mu      sync.Mutex
	spares  []fsx.File     // files that refill made for later writes
	making  sync.WaitGroup // refills in progress
	refills int            // calls of refill
	closed  bool
}

// spareFiles is the number of files that a write needs: a pack and its index.
const spareFiles = 2

// create returns an empty file that is open for reading and writing: a spare file, or a new one.
// The file is read-only for every process that opens it later.
func (t *tempDir) create() (fsx.File, error) {
	for {
		f := t.takeSpare()
		if f == nil {
			return t.makeFile()
		}
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, nil
		}
		// Another process has removed the file as abandoned, because it could not see that this process is
		// alive.
		_ = f.Close() // nothing was written
	}
}

// takeSpare removes a spare file from t and returns it. It returns nil if t has no spare file.
func (t *tempDir) takeSpare() fsx.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spares) == 0 {
		return nil
	}
	f := t.spares[len(t.spares)-1]
	t.spares = t.spares[:len(t.spares)-1]
	return f
}

// refill makes spare files for the next write, in the background. The first call does nothing, because most
// processes write only once. Spare files save time where files are deleted often, for example by merges: ext4
// then takes up to a millisecond to find a free inode. refill ignores errors, because the next write makes its
// own files and returns their errors.
func (t *tempDir) refill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refills++
	if t.refills == 1 || t.closed {
		return
	}
	t.making.Go(func() {
		for range spareFiles {
			f, err := t.makeFile()
			if err != nil {
				return
			}
			t.mu.Lock()
			surplus := t.closed || len(t.spares) >= spareFiles
			if !surplus {
				t.spares = append(t.spares, f)
			}
			t.mu.Unlock()
			if surplus {
				t.remove(f)
				return
			}
		}
	})
}

// close waits for a refill in progress and removes all spare files. Later calls of refill do
// nothing.
func (t *tempDir) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.making.Wait()
	for f := t.takeSpare(); f != nil; f = t.takeSpare() {
		t.remove(f)
	}
}

// remove closes and removes a temporary file. It ignores errors, because a later process removes a remaining
// file.
func (t *tempDir) remove(f fsx.File) {
	_ = f.Close()             // the content is not needed
	_ = t.fs.Remove(f.Name()) // a later process removes the file
}

// makeFile creates an empty file with an unused name, and the directory if it is missing. The first
// call also removes old files of dead processes.
func (t *tempDir) makeFile() (fsx.File, error) {
	for {
		name := tempPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(t.serial.Add(1), 10)
		f, err := t.fs.OpenFile(filepath.Join(t.path, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
		if errors.Is(err, fs.ErrExist) {
			continue // an earlier process, or a process in another container, had the same process id
		}
		if errors.Is(err, fs.ErrNotExist) {
			if err = t.fs.MkdirAll(t.path, 0o777); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		t.discard.Do(func() { t.discardStale(f) })
		return f, nil
	}
}

// discardStale removes the temporary files of dead processes from the directory. It keeps a file that is less
// than staleTemp older than justMade. justMade must be a new file: its time is the time of the file system's
// clock, which can differ from this machine's clock. discardStale ignores errors, because a later process tries
// again.
func (t *tempDir) discardStale(justMade fsx.File) {
	info, err := justMade.Stat()
	if err != nil {
		return
	}
	files, err := os.ReadDir(t.path)
	if err != nil {
		return
	}
	for _, file := range files {
		rest, ok := strings.CutPrefix(file.Name(), tempPrefix)
		if !ok {
			continue
		}
		pid, _, _ := strings.Cut(rest, "-")
		made, err := file.Info()
		if err != nil || info.ModTime().Sub(made.ModTime()) < staleTemp || isAlive(pid) {
			continue
		}
		_ = t.fs.Remove(filepath.Join(t.path, file.Name())) // the next process tries again
	}
}

// keep creates a file at path that isOurKeep recognizes: a .keep file or a lock of the multi-pack-index. The
// file is a hard link to the file emptyFile of the directory. If the link cannot be made, keep writes a new
// file with the content keepText. If path exists already, made is false without an error. The file at path then
// belongs to another process, and the caller must not remove it.
func (t *tempDir) keep(path string) (made bool, err error) {
	empty := filepath.Join(t.path, emptyFile)
	err = t.fs.Link(empty, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.makeParents(empty, path); err == nil {
			err = t.fs.Link(empty, path)
		}
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	}
	// The file system has no hard links, or emptyFile has as many links as the file system allows.
	f, createErr := t.fs.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(createErr, fs.ErrExist) {
		return false, nil
	}
	if createErr != nil {
		return false, createErr
	}
	_, err = f.Write([]byte(keepText))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = t.fs.Remove(path) // isOurKeep would not recognize a file with other content
		return false, err
	}
	return true, nil
}

// makeParents creates the folder that contains path, and the permanent file emptyFile at emptyPath. It changes
// nothing that exists.
func (t *tempDir) makeParents(emptyPath, path string) error {
	if err := t.fs.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := t.fs.OpenFile(emptyPath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// isOurKeep reports whether this program, in any process, made the file at path with keep. It returns false if
// the file is missing or unreadable.
func (t *tempDir) isOurKeep(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if empty, err := os.Stat(filepath.Join(t.path, emptyFile)); err == nil && os.SameFile(empty, info) {
		return true
	}
	text, err := os.ReadFile(path)
	return err == nil && string(text) == keepText
}

// rename moves a finished file. oldPath is the path of the file, and newPath is its final path.
// rename creates the folder of newPath if the folder is missing.
func (t *tempDir) rename(oldPath, newPath string) error {
	err := t.fs.Rename(oldPath, newPath)
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.fs.MkdirAll(filepath.Dir(newPath), 0o777); err != nil {
			return err
		}
		return t.fs.Rename(oldPath, newPath)
	}
	return err
}

// isAlive reports whether a process with the decimal id pid may exist. It also returns true if the process
// exists but this user may not signal it. It returns false if pid is not a positive number.
func isAlive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return false
	}
	p, err := os.FindProcess(n)
	if err != nil {
		return false
	}
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// now returns the time of the file system's clock, which can differ from this machine's clock. To read the
// time, it makes a temporary file and removes it.
func (t *tempDir) now() (time.Time, error) {
	clock, err := t.makeFile()
	if err != nil {
		return time.Time{}, err
	}
	info, err := clock.Stat()
	t.remove(clock)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// lock returns the file lock with the given name in the directory, without taking it. It creates
// the directory if it is missing.
func (t *tempDir) lock(name string, options ...flock.Option) (*flock.Flock, error) {
	if err := t.fs.MkdirAll(t.path, 0o777); err != nil {
		return nil, err
	}
	return flock.New(filepath.Join(t.path, name), options...), nil
}

// alone calls f while it holds the lock with the given name in the directory, and returns f's
// error. It waits until no other process holds the lock. If ctx ends first, alone returns an error
// and does not call f.
func (t *tempDir) alone(ctx context.Context, name string, f func() error) (err error) {
	lock, err := t.lock(name)
	if err != nil {
		return err
	}
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}
