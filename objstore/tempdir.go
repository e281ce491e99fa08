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

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

const (
	tempPrefix = "unfinished-"
	// emptyFile is a permanent file in the temporary directory. The .keep files of this program are
	// hard links to it. A link costs a fifth of creating a file, and shows who has made it.
	emptyFile = "empty"
	// keepText is the content of a .keep file that cannot be a link.
	keepText = "git-smithers: refs to this pack are about to move\n"
	// staleTemp is the age above which a dead process's temporary file is removed.
	staleTemp = time.Hour
	// staleKeep is the age above which a .keep file of this program belongs to a dead process.
	staleKeep = 24 * time.Hour
)

// tempDir makes temporary files. It makes the directory with the first file. Safe for concurrent
// use; processes may share the directory.
type tempDir struct {
	fs      fsx.FS
	path    string
	serial  atomic.Uint64
	discard sync.Once

	mu      sync.Mutex
	spares  []fsx.File // made ahead
	making  sync.WaitGroup
	refills int
	closed  bool
}

// spareFiles is the number of files of a write: a pack and its index.
const spareFiles = 2

// create makes an empty file for writing. No other process can open it for writing later.
func (t *tempDir) create() (fsx.File, error) {
	for {
		f := t.takeSpare()
		if f == nil {
			return t.makeFile()
		}
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, nil
		}
		// A process that could not see that this process is alive has removed the file as
		// abandoned.
		_ = f.Close() // nothing was written
	}
}

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

// refill makes files for the next write in the background, from the second write of a process on.
// If files are deleted often, as merges do, ext4 takes up to a millisecond to find a free inode. An
// error is left to the next write.
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

// close removes the files that were made ahead.
func (t *tempDir) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.making.Wait()
	for f := t.takeSpare(); f != nil; f = t.takeSpare() {
		t.remove(f)
	}
}

// remove closes and removes a temporary file. A later process clears away a file that cannot be
// removed.
func (t *tempDir) remove(f fsx.File) {
	_ = f.Close()             // see above
	_ = t.fs.Remove(f.Name()) // see above
}

// makeFile makes a file. The first call removes the files of dead processes.
func (t *tempDir) makeFile() (fsx.File, error) {
	for {
		name := tempPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(t.serial.Add(1), 10)
		f, err := t.fs.OpenFile(filepath.Join(t.path, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
		if errors.Is(err, fs.ErrExist) {
			continue // of a process with the same number: an earlier one, or one in another container
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

// discardStale removes the files of dead processes. It measures their age by the clock of the file
// system, on the file that was just made. A file that cannot be removed stays for the next process,
// because it is no reason to fail a write.
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
		_ = t.fs.Remove(filepath.Join(t.path, file.Name())) // tried again by the next process
	}
}

// keep makes the .keep file at path, because of which git and merges leave a pack alone. made is
// false if there is one already, which is another process's to remove.
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
	// The file system has no hard links, or the file has too many.
	f, createErr := t.fs.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(createErr, fs.ErrExist) {
		return false, nil
	}
	if createErr != nil {
		return false, createErr
	}
	_, err = f.Write([]byte(keepText))
	if err = errors.Join(err, f.Close()); err != nil {
		_ = t.fs.Remove(path) // a file without the text could not be recognized
		return false, err
	}
	return true, nil
}

// makeParents makes the permanent empty file, and the directory that path is in.
func (t *tempDir) makeParents(empty, path string) error {
	if err := t.fs.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := t.fs.OpenFile(empty, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// isOurKeep reports whether keep has made the .keep file at path, in this process or another.
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

// rename moves a finished file to its final path, and makes the directory if need be.
func (t *tempDir) rename(from, to string) error {
	err := t.fs.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.fs.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return t.fs.Rename(from, to)
	}
	return err
}

// isAlive reports whether a process with this decimal number may exist. In doubt it returns true.
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

// now returns the time by the clock of the file system.
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

// lock returns the lock of a name in the directory, without taking it. It makes the directory.
func (t *tempDir) lock(name string, options ...flock.Option) (*flock.Flock, error) {
	if err := t.fs.MkdirAll(t.path, 0o777); err != nil {
		return nil, err
	}
	return flock.New(filepath.Join(t.path, name), options...), nil
}

// alone calls f under the lock of a name in the directory. It waits until no other process has the lock.
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
