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

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// bundleDraftMark is the beginning of a draft's file name. 16 hexadecimal digits follow. A draft is in the folder of
// its bundle. The writer locks the draft, so an unlocked draft was left by a process that was killed.
const bundleDraftMark = ".git-smithers-bundle-"

// bundleDraft is a bundle that is being written. The embedded File is the draft.
type bundleDraft struct {
	*os.File

	path  string // the path at which the complete bundle will be
	shown string // path as the user typed it, for messages
	lock  *flock.Flock
}

// newBundleDraft begins a bundle with an empty draft, which the caller must remove. path is the path of the bundle, and
// shown is the same path as the user typed it, for messages. newBundleDraft also removes the drafts of killed processes
// in the same folder. The error is usage if a file with this path exists, or if its folder does not exist.
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

// lockedDraft makes a draft in the folder of path and locks the draft. Another process may take the new draft for a
// leftover draft, and remove it before it is locked. lockedDraft then returns nil without an error, and the caller must
// try again. The error is usage if the folder does not exist. shown is path as the user typed it, for messages.
func lockedDraft(path, shown string) (*bundleDraft, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%016x", bundleDraftMark, rand.Uint64())) //nolint:gosec // the name need not be secret
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)                            //nolint:gosec // the umask decides who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Usage, "the folder of %s does not exist", shown).Hint("make the folder, or name a file in another folder")
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

// isBundleDraft reports whether name is the name of a draft: bundleDraftMark and 16 hexadecimal digits. name must not
// contain a folder.
func isBundleDraft(name string) bool {
	digits, ok := strings.CutPrefix(name, bundleDraftMark)
	number, err := hex.DecodeString(digits)
	return ok && err == nil && len(number) == 8
}

// isThere reports whether path exists. A symbolic link exists even if its target does not.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeLeftDraft removes the draft at path, unless a process has locked it. It ignores errors, because a leftover
// draft does no harm.
func removeLeftDraft(path string) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if locked, err := lock.TryLock(); locked && err == nil {
		_ = os.Remove(path)
	}
	_ = lock.Close()
}

// bundleIsThere returns the usage error for a bundle whose file already exists. shown is the path as the user typed it.
func bundleIsThere(shown string) error {
	return fault.New(fault.Usage, "%s already exists", shown).Hint("choose another file name, or remove the file")
}

// place puts the complete bundle at its path, on stable storage, and returns its size in bytes. It makes a hard link to
// the draft, because a rename would replace an existing file. If the file system has no hard links, place calls rename.
// The error is usage if a file with this path exists.
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

// rename puts the bundle at its path on a file system without hard links. It first makes an empty file at the path,
// which fails if a file is there, and then replaces the empty file by the bundle. The error is usage if a file with
// this path exists. If the process is killed between the two steps, the empty file stays.
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

// remove removes the draft, and then releases its lock. It ignores errors.
func (d *bundleDraft) remove() {
	_, _ = d.Close(), os.Remove(d.Name()) // the bundle is in its place, or the caller has an error to return
	_ = d.lock.Close()
}
