package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
)

// A database is created in a draft folder beside its final path, named <database>.new-<digits>. The creating process
// holds a lock on a file in the folder, so an unlocked folder is left over from a killed process. Copies of databases
// are in draft folders in the system's temporary folder.
const (
	draftMark     = ".new-"
	draftLock     = "lock"
	draftDatabase = "database"
	draftLink     = "link"
)

// draft is a folder in which a database is created or copied.
type draft struct {
	folder string
	lock   *flock.Flock
}

// create writes a new database in a draft folder beside path, and then makes it appear at path with a hard link.
// It calls write in one transaction. A hard link, unlike a rename, never replaces a file that another process has
// just created: if path exists, the error wraps ErrBusy. If hard links do not work in the folder, create calls
// createInPlace. link is os.Link, or its replacement in a test.
func create(ctx context.Context, path string, link func(from, to string) error, write func(*WriteTx) error) (err error) {
	d, err := newDraft(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	f := d.file()
	if !d.links(link) {
		return createInPlace(ctx, path, write)
	}
	if err := f.write(ctx, write); err != nil {
		return err
	}
	if err := link(f.path, path); err != nil {
		return notCreated(path, err)
	}
	return fsx.SyncDir(filepath.Dir(path))
}

// createInPlace creates an empty file at path and calls write in one transaction on it. If path exists, the
// error wraps ErrBusy. If the transaction fails, the empty file stays, because another process may wait for the
// file.
func createInPlace(ctx context.Context, path string, write func(*WriteTx) error) error {
	if err := touch(path); err != nil {
		return notCreated(path, err)
	}
	if err := fsx.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := locate(path)
	if err != nil {
		return err
	}
	return f.write(ctx, write)
}

// notCreated turns err, the reason why the database at path was not created, into the error to report. If path
// exists, the result wraps ErrBusy. If err is an os.LinkError, the result is an fs.PathError about path. Any other
// err stays unchanged.
func notCreated(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: another process has just created the database", ErrBusy)
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // the user does not know the draft's path
	}
	return err
}

// links reports whether link can create a hard link in the draft folder.
func (d *draft) links(link func(from, to string) error) bool {
	second := filepath.Join(d.folder, draftLink)
	return link(d.file().path, second) == nil && removeFile(second) == nil
}

// newDraft creates a draft folder for the database at path, with an empty database in it, and locks the folder if
// the file system has locks. The caller must remove the draft. If other processes keep removing the folder, the
// error wraps ErrBusy.
func newDraft(path string) (*draft, error) {
	const tries = 10
	for range tries {
		folder, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+draftMark+"*")
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // the user does not know the draft's path
		}
		if err != nil {
			return nil, err
		}
		d := draftIn(folder)
		// In a file system without locks, TryLock fails everywhere, so no other process removes the folder.
		if locked, err := d.lock.TryLock(); locked || err != nil {
			err := touch(d.file().path)
			if err == nil {
				return d, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(err, d.remove())
			}
		}
		// Another process removed the folder before this process locked the folder.
		if err := d.lock.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: another process keeps removing the temporary folders beside the database", ErrBusy)
}

// draftIn returns the draft whose folder is folder. It does not lock the draft.
func draftIn(folder string) *draft {
	return &draft{folder, flock.New(filepath.Join(folder, draftLock), flock.SetPermissions(0o600))}
}

// file returns the database in the draft folder.
func (d *draft) file() file { return file{filepath.Join(d.folder, draftDatabase)} }

// touch creates an empty file at path, with the permissions that the umask allows. If path exists, the error
// wraps fs.ErrExist.
func touch(path string) error {
	empty, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return empty.Close()
}

// remove releases the lock of the draft, and removes the draft folder and the known files in it. An unknown file
// makes the removal of the folder fail.
func (d *draft) remove() error {
	f := d.file()
	var errs []error
	for _, path := range []string{f.path + "-journal", f.log(), f.shared(), f.path, filepath.Join(d.folder, draftLink)} {
		errs = append(errs, removeFile(path))
	}
	errs = append(errs, d.lock.Close(), removeFile(d.lock.Path()), removeFile(d.folder))
	return errors.Join(errs...)
}

// removeFile removes the file or the empty folder at path. If path is missing, it returns nil.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes the draft folders that killed processes left beside the database at path. It ignores all
// errors, because leftovers do not prevent writing. It skips the folders of other users, who could exchange a
// folder during the check.
func sweep(path string) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		number, ok := strings.CutPrefix(entry.Name(), filepath.Base(path)+draftMark)
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" || !entry.IsDir() {
			continue
		}
		if info, err := entry.Info(); err != nil || !isOurs(info) {
			continue
		}
		d := draftIn(filepath.Join(folder, entry.Name()))
		if stat(d.lock.Path()) == nil {
			continue // the folder is no draft, or its process has not locked it yet
		}
		if locked, err := d.lock.TryLock(); err == nil && locked {
			_ = d.remove()
		}
	}
}
