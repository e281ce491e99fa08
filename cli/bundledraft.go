package cli

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// bundleDraftMark is what follows a bundle's name, before digits, in that of a file beside it that is being written. Its
// writer has it locked; one that nobody has locked was left by a process that was killed.
const bundleDraftMark = ".new-"

// bundleDraft is a bundle that is being written.
type bundleDraft struct {
	*os.File

	path  string // where the bundle goes
	shown string // as it was named
	lock  *flock.Flock
}

// newBundleDraft begins a bundle, and removes what killed processes left of it. A file that is there is a usage error.
func newBundleDraft(path, shown string) (*bundleDraft, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, bundleIsThere(shown)
	}
	left, _ := filepath.Glob(quoteGlob(path) + bundleDraftMark + "*") // the pattern is well formed
	for _, path := range left {
		removeLeftDraft(path)
	}
	name := path + bundleDraftMark + strconv.Itoa(rand.Int())              //nolint:gosec // it need not be secret
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the umask says who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Usage, "there is no folder to write %s to", shown)
	}
	if err != nil {
		return nil, err
	}
	d := &bundleDraft{file, path, shown, flock.New(file.Name(), flock.SetFlag(os.O_RDWR))}
	// Without locks, as in some file systems, nobody takes the file away either.
	_, _ = d.lock.TryLock()
	return d, nil
}

// removeLeftDraft removes a draft that nobody has locked.
func removeLeftDraft(path string) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if locked, err := lock.TryLock(); locked && err == nil {
		_ = os.Remove(path) // it is in nobody's way
	}
	_ = lock.Close()
}

// quoteGlob is a pattern that matches a path and nothing else.
func quoteGlob(path string) string {
	var out []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}

func bundleIsThere(shown string) error {
	return fault.New(fault.Usage, "%s is there already", shown).Hint("name a new file, or remove that one")
}

// place puts the bundle where it goes, whole and on stable storage, and returns its size. A link takes no other file's
// place, as a rename would.
func (d *bundleDraft) place() (int64, error) {
	info, err := d.Stat()
	if err := errors.Join(err, d.Sync()); err != nil {
		return 0, err
	}
	switch err := os.Link(d.Name(), d.path); {
	case errors.Is(err, fs.ErrExist):
		return 0, bundleIsThere(d.shown)
	case err != nil: // there are no links in this file system
		if err := d.rename(); err != nil {
			return 0, err
		}
	}
	return info.Size(), fsx.SyncDir(filepath.Dir(d.path))
}

// rename puts the bundle in the place of an empty file that nobody else has made.
func (d *bundleDraft) rename() error {
	file, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return bundleIsThere(d.shown)
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Rename(d.Name(), d.path))
}

// remove removes the draft. Its lock goes last.
func (d *bundleDraft) remove() {
	_, _ = d.Close(), os.Remove(d.Name()) // it was put in its place, or there is an error already
	_ = d.lock.Close()
}
