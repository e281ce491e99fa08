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

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
)

// locksFolder is the folder, in the common directory, with the owner file of each DB that writes.
const locksFolder = "smithers/locks"

const (
	noteLocked = "locks\n" // the first line of a note
	noteIdle   = "idle.\n" // replaces noteLocked, and has the same length, so that one write clears a note
	noteEnd    = "end\n"   // the last line of a note
)

// ownerAttempts is the maximum number of attempts to make an owner file. Another process may find the new
// file before its flock is held, and remove it as a dead owner's file.
const ownerAttempts = 10

// owner is the file in which a DB notes ref locks, with their contents, before it creates the locks. The DB holds the
// flock of the file as long as the DB is open. So if a process gets the flock, the owner is dead, and the noted locks
// that still exist belong to the dead owner.
//
// The content of the file is "idle.\n", or it is "locks\n", a line "<content> <ref name>\n" for each lock, and "end\n".
// Text after this content is left over from a longer note.
type owner struct {
	fs   fsx.FS
	path string
	lock *flock.Flock
	file fsx.File
}

// own makes the owner file of the DB and removes the locks of dead owners. If the DB has an owner file
// already, own does nothing.
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

var errLostOwner = errors.New("another process removed the new owner file")

// newOwner makes an owner file in folder for this process, and takes its flock. If another process removed
// the file before newOwner got the flock, the error wraps errLostOwner.
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
	// Another process removed the file between its creation and its flock.
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = errLostOwner
	}
	return nil, errors.Join(err, file.Close(), o.lock.Close())
}

// makeOwnerFile creates and opens the file at path, and creates the folder of the file if it is missing.
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

// isCurrent reports whether the path of o still names the file that o opened and locked. It returns false if another
// process has removed or replaced the file.
func (o *owner) isCurrent() bool {
	locked, err1 := o.lock.Stat()
	open, err2 := o.file.Stat()
	named, err3 := os.Stat(o.path)
	return errors.Join(err1, err2, err3) == nil && os.SameFile(locked, open) && os.SameFile(open, named)
}

// note writes into the owner file that the DB will create the locks of updates. contents[i] is the content of the lock
// of updates[i]. The caller must call note before it creates the first lock, so that another process can remove the
// locks if this process dies.
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

// clear writes into the owner file that the DB holds no locks.
func (o *owner) clear() error {
	_, err := o.file.WriteAt([]byte(noteIdle), 0)
	return err
}

// close closes and removes the file. It releases the flock last, so that a living owner never looks dead.
func (o *owner) close() error {
	return errors.Join(o.file.Close(), o.fs.Remove(o.path), o.lock.Close())
}

// notedLock is a ref lock in the note of an owner.
type notedLock struct {
	name    Name
	content string // the content of the lock without the final line feed
}

// parseNote returns the locks that are noted in file, the content of an owner file. It returns nil if the owner holds
// no locks. It also returns nil for an incomplete note: the owner died while writing the note, before it created a
// lock.
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
