package sharing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// bundleDraftMark begins the name of a draft, which is written in the folder of its bundle; 16 hexadecimal digits
// follow. The writer locks the draft: an unlocked draft was left by a process that was killed.
const bundleDraftMark = ".git-smithers-bundle-"

// bundleDraft is a bundle that is being written.
type bundleDraft struct {
	*os.File

	path  string // the path of the bundle
	shown string // path as it was typed
	lock  *flock.Flock
}

// newBundleDraft begins a bundle, and removes the drafts that killed processes left in the folder of the bundle. path
// is the path of the bundle. shown is the same path as it was typed, for messages. The error is usage if the file
// exists, or if its folder does not exist.
func newBundleDraft(path, shown string) (*bundleDraft, error) {
	if isThere(path) {
		return nil, bundleIsThere(shown)
	}
	folder := filepath.Dir(path)
	files, _ := os.ReadDir(folder) // a folder that cannot be listed may be written to
	for _, file := range files {
		if file.Type().IsRegular() && isBundleDraft(file.Name()) {
			removeLeftDraft(filepath.Join(folder, file.Name()))
		}
	}
	for {
		d, err := lockedDraft(path, shown)
		if d != nil || err != nil {
			return d, err
		}
	}
}

// lockedDraft makes a draft in the folder of path and locks it. It returns nil without an error if another process
// removed the draft before the lock; the caller then tries again. The error is usage if the folder does not exist.
// shown is path as it was typed.
func lockedDraft(path, shown string) (*bundleDraft, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%016x", bundleDraftMark, rand.Uint64())) //nolint:gosec // the name need not be secret
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)                            //nolint:gosec // the umask decides who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Usage, "the folder of %s does not exist", shown).Hint("make the folder, or name a file in another one")
	}
	if err != nil {
		return nil, err
	}
	d := &bundleDraft{file, path, shown, flock.New(name, flock.SetFlag(os.O_RDWR))}
	// An error of TryLock means that the file system has no locks. Then no process removes the draft.
	locked, err := d.lock.TryLock()
	if mine := locked || err != nil; mine && isThere(name) {
		return d, nil
	}
	d.remove()
	return nil, nil //nolint:nilnil // another process has removed the draft
}

// isBundleDraft reports whether name is the name of a draft. name must not contain a folder.
func isBundleDraft(name string) bool {
	digits, ok := strings.CutPrefix(name, bundleDraftMark)
	number, err := hex.DecodeString(digits)
	return ok && err == nil && len(number) == 8
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeLeftDraft removes the draft at path, unless a process has locked it.
func removeLeftDraft(path string) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if locked, err := lock.TryLock(); locked && err == nil {
		_ = os.Remove(path) // a leftover file does no harm
	}
	_ = lock.Close()
}

func bundleIsThere(shown string) error {
	return fault.New(fault.Usage, "%s already exists", shown).Hint("choose another file name, or remove the file")
}

// place puts the finished bundle at its path, on stable storage, and returns its size in bytes. It makes a link,
// because a rename would replace an existing file. If the file system has no links, it calls rename. The error is usage
// if a file with this path exists.
func (d *bundleDraft) place() (int64, error) {
	info, err := d.Stat()
	if err := errors.Join(err, d.Sync()); err != nil {
		return 0, err
	}
	switch err := os.Link(d.Name(), d.path); {
	case errors.Is(err, fs.ErrExist):
		return 0, bundleIsThere(d.shown)
	case err != nil: // the file system has no links
		if err := d.rename(); err != nil {
			return 0, err
		}
	}
	return info.Size(), fsx.SyncDir(filepath.Dir(d.path))
}

// rename puts the bundle at its path if the file system has no links. It first makes an empty file at the path, and
// then replaces this file by the bundle. The error is usage if a file with this path exists. If the process is killed
// in between, the empty file stays.
func (d *bundleDraft) rename() error {
	file, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return bundleIsThere(d.shown)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(file.Close(), os.Rename(d.Name(), d.path)); err != nil {
		return errors.Join(err, os.Remove(d.path))
	}
	return nil
}

// remove removes the draft, and then its lock.
func (d *bundleDraft) remove() {
	_, _ = d.Close(), os.Remove(d.Name()) // the bundle is in its place, or the caller has an error to return
	_ = d.lock.Close()
}
