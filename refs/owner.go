package refs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// locksFolder contains a file for each DB that writes, in the common directory.
const locksFolder = "smithers/locks"

const (
	noteLocked = "locks\n"
	noteIdle   = "idle.\n" // as long as noteLocked, so that one write clears a note
	noteEnd    = "end\n"
)

// ownerAttempts limits the attempts to make an owner file, because another process may take the new
// file for a dead one's.
const ownerAttempts = 10

// owner is the file in which a DB notes ref locks, with their contents, before it creates
// them. The DB holds the file's flock for its life, so a process that gets the flock
// knows that the owner is dead, and which remaining locks are the owner's.
//
// The file is "idle.\n", or "locks\n", a line "<content> <ref name>\n" for each
// lock and "end\n"; the rest is left over from a longer note.
type owner struct {
	fs   fsx.FS
	path string
	lock *flock.Flock
	file fsx.File
}

// own makes the DB's owner file if necessary, and removes the locks of dead owners.
func (w *fileWriter) own() error {
	if w.owner != nil {
		return nil
	}
	folder := filepath.Join(w.db.reader.dir, filepath.FromSlash(locksFolder))
	var err error
	for range ownerAttempts {
		w.owner, err = newOwner(w.db.opts.FS, folder)
		if err == nil || !errors.Is(err, errLostOwner) {
			break
		}
	}
	if err != nil {
		return err
	}
	_, _, err = w.db.removeStaleLocks(nil)
	return err
}

var errLostOwner = errors.New("owner file was taken for a dead one's")

// newOwner makes an owner file for this process and takes its flock. If another process has removed the file
// before the flock, the error wraps errLostOwner.
func newOwner(files fsx.FS, folder string) (*owner, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, strconv.Itoa(os.Getpid())+"-"+hex.EncodeToString(random[:]))
	file, err := makeOwnerFile(files, path)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	o := &owner{fs: files, path: path, file: file, lock: flock.New(path, flock.SetFlag(os.O_RDWR))}
	locked, err := o.lock.TryLock()
	if err == nil && locked && o.isCurrent() {
		return o, nil
	}
	// The file was removed between its creation and its flock.
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = errLostOwner
	}
	return nil, errors.Join(err, file.Close(), o.lock.Close())
}

// makeOwnerFile makes the file, and the folder if necessary.
func makeOwnerFile(files fsx.FS, path string) (fsx.File, error) {
	const flag = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := files.OpenFile(path, flag, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if err := files.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		return files.OpenFile(path, flag, 0o666)
	}
	return file, err
}

// isCurrent reports whether the open file is still the one at its path.
func (o *owner) isCurrent() bool {
	locked, err1 := o.lock.Stat()
	open, err2 := o.file.Stat()
	named, err3 := os.Stat(o.path)
	return errors.Join(err1, err2, err3) == nil && os.SameFile(locked, open) && os.SameFile(open, named)
}

// note records that the locks of names are about to be made with contents.
func (o *owner) note(updates []Update, contents []string) error {
	var b strings.Builder
	b.WriteString(noteLocked)
	for i, u := range updates {
		b.WriteString(contents[i] + " " + string(u.Name) + "\n")
	}
	b.WriteString(noteEnd)
	_, err := o.file.WriteAt([]byte(b.String()), 0)
	return err
}

// clear records that no lock is held.
func (o *owner) clear() error {
	_, err := o.file.WriteAt([]byte(noteIdle), 0)
	return err
}

// close removes the file, and releases its flock last, so that a living owner never looks
// dead.
func (o *owner) close() error {
	return errors.Join(o.file.Close(), o.fs.Remove(o.path), o.lock.Close())
}

// notedLock is a lock that an owner noted.
type notedLock struct {
	name    Name
	content string // without the final line feed
}

// parseNote reads an owner file. An incomplete note means that the owner died while writing it, so
// it had not made any of the locks.
func parseNote(file string) []notedLock {
	body, locked := strings.CutPrefix(file, noteLocked)
	if !locked {
		return nil
	}
	var locks []notedLock
	for line := range strings.Lines(body) {
		if line == noteEnd {
			return locks
		}
		content, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if err := Name(name).check(); !found || err != nil {
			return nil
		}
		locks = append(locks, notedLock{Name(name), content})
	}
	return nil
}
