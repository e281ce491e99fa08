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

// A database is made in a folder beside its place, of the name <database>.new-<digits>, by a
// process that has a file in it locked. Where nobody has, that process is gone. Copies are in such folders, too, beside
// other temporary files.
const (
	draftMark     = ".new-"
	draftLock     = "lock"
	draftDatabase = "database"
	draftLink     = "link"
)

// draft is such a folder.
type draft struct {
	folder string
	lock   *flock.Flock
}

// create makes a database beside its place, whole, and then puts it there: by a link, which takes no other file's place,
// as a rename would.
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

// createInPlace makes a database in its place. It is empty until the transaction ends, and stays so where that fails: it is
// not known whether somebody else waits for it.
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

// notCreated is why there is no database at path.
func notCreated(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: somebody else has made it meanwhile", ErrBusy)
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // who asked knows of no other
	}
	return err
}

// links reports whether the file system has hard links.
func (d *draft) links(link func(from, to string) error) bool {
	second := filepath.Join(d.folder, draftLink)
	return link(d.file().path, second) == nil && removeFile(second) == nil
}

// newDraft makes a folder for the database at path, with an empty database.
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
		// Without locks, as in some file systems, nobody takes the folder away either.
		if locked, err := d.lock.TryLock(); locked || err != nil {
			err := touch(d.file().path)
			if err == nil {
				return d, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(err, d.remove())
			}
		}
		// Somebody found it before it was locked.
		if err := d.lock.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: folders beside it go away as they are made", ErrBusy)
}

func draftIn(folder string) *draft {
	return &draft{folder, flock.New(filepath.Join(folder, draftLock), flock.SetPermissions(0o600))}
}

// file is the database in it.
func (d *draft) file() file { return file{filepath.Join(d.folder, draftDatabase)} }

// touch makes an empty file, with the permissions that the umask has for databases.
func touch(path string) error {
	empty, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return empty.Close()
}

// remove deletes the folder with what there may be in it, and nothing else.
func (d *draft) remove() error {
	f := d.file()
	var errs []error
	for _, path := range []string{f.path + "-journal", f.log(), f.shared(), f.path, filepath.Join(d.folder, draftLink)} {
		errs = append(errs, removeFile(path))
	}
	errs = append(errs, d.lock.Close(), removeFile(d.lock.Path()), removeFile(d.folder))
	return errors.Join(errs...)
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes what processes that were killed have left beside the database at path. What cannot be
// removed stays, and is no reason not to write. So does what others made, who could put another folder in its place where it
// is looked at, if anybody may write beside it.
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
			continue // it is none of ours, or is being made
		}
		if locked, err := d.lock.TryLock(); err == nil && locked {
			_ = d.remove()
		}
	}
}
