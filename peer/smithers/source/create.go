package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// A database is created in a folder beside its place, named <database>.new-<digits>. The creating process holds a
// lock on a file in the folder, so an unlocked folder is left over from a killed process. Copies of databases are in
// such folders too, among other temporary files.
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

// create builds a complete database beside its place and then moves it there. It uses a hard link, because a rename
// could replace another file.
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

// createInPlace creates a database in its place. The file is empty until the transaction ends. It stays empty if the
// transaction fails, because another process may wait for the file.
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

// notCreated explains why the database at path was not created.
func notCreated(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: another process has just created it", ErrBusy)
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // who asked knows of no other
	}
	return err
}

// links reports whether the file system supports hard links.
func (d *draft) links(link func(from, to string) error) bool {
	second := filepath.Join(d.folder, draftLink)
	return link(d.file().path, second) == nil && removeFile(second) == nil
}

// newDraft creates a draft folder for the database at path, with an empty database in it.
func newDraft(path string) (*draft, error) {
	const tries = 10
	for range tries {
		folder, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+draftMark+"*")
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // who asked knows of no other
		}
		if err != nil {
			return nil, err
		}
		d := draftIn(folder)
		// If the file system has no locks, no other process removes the folder either.
		if locked, err := d.lock.TryLock(); locked || err != nil {
			err := touch(d.file().path)
			if err == nil {
				return d, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(err, d.remove())
			}
		}
		// Another process removed the folder before it was locked.
		if err := d.lock.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: another process keeps removing the folders beside it", ErrBusy)
}

func draftIn(folder string) *draft {
	return &draft{folder, flock.New(filepath.Join(folder, draftLock), flock.SetPermissions(0o600))}
}

// file returns the database in the draft folder.
func (d *draft) file() file { return file{filepath.Join(d.folder, draftDatabase)} }

// touch creates an empty file, with the permissions that the umask allows.
func touch(path string) error {
	empty, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return empty.Close()
}

// remove deletes the known files in the folder, and the folder if it is then empty.
func (d *draft) remove() error {
	f := d.file()
	var errs []error
	for _, path := range []string{f.path + "-journal", f.log(), f.shared(), f.path, filepath.Join(d.folder, draftLink)} {
		errs = append(errs, removeFile(path))
	}
	errs = append(errs, d.lock.Close(), removeFile(d.lock.Path()), removeFile(d.folder))
	return errors.Join(errs...)
}

// removeFile removes a file or an empty folder. A missing file is not an error.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes the draft folders that killed processes left beside the database at path. It ignores all errors,
// because leftovers do not prevent writing. It skips folders of other users, who could exchange a folder while it is
// inspected.
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
			continue // not a draft, or still being created
		}
		if locked, err := d.lock.TryLock(); err == nil && locked {
			_ = d.remove()
		}
	}
}
