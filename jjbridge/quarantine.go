package jjbridge

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zlib"

	"github.com/git-smithers/git-smithers/objstore"
)

// quarantinePrefix begins the names of quarantines in a private index's folder.
const quarantinePrefix = "objects-"

// quarantine is an object directory of its own, in which the new objects of one capture
// are until they are stored with it. Its lock is held for its life, so that whoever can
// have it knows that its process is dead.
type quarantine struct {
	dir  string
	lock *flock.Flock
}

// newQuarantine makes an empty quarantine. The caller holds p, which keeps others from
// taking the folder for one that was left behind before its lock is held.
func (p *privateIndex) newQuarantine() (*quarantine, error) {
	dir, err := os.MkdirTemp(p.dir, quarantinePrefix)
	if err != nil {
		return nil, err
	}
	q := &quarantine{dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
	if _, err := q.lock.TryLock(); err != nil {
		return nil, errors.Join(err, q.close())
	}
	return q, nil
}

// close removes the quarantine.
func (q *quarantine) close() error {
	err := os.RemoveAll(q.dir)
	if errors.Is(err, fs.ErrExist) {
		// The folder is not empty: another capture has found it without its lock, put one
		// there, and removes the folder too.
		err = nil
	}
	return errors.Join(err, q.lock.Close())
}

// removeStaleQuarantine removes a quarantine whose process is dead. What cannot be
// removed stays for the next one.
func removeStaleQuarantine(dir string) {
	lock := flock.New(filepath.Join(dir, "lock"))
	if held, err := lock.TryLock(); err == nil && held {
		_ = os.RemoveAll(dir) // see above
	}
	_ = lock.Close() // nothing was written
}

// has reports whether the object is in the quarantine, as a loose one.
func (q *quarantine) has(id objstore.ID) bool {
	_, err := os.Lstat(q.file(id))
	return err == nil
}

func (q *quarantine) file(id objstore.ID) string {
	name := id.String()
	return filepath.Join(q.dir, name[:2], name[2:])
}

// add writes a loose object.
func (q *quarantine) add(id objstore.ID, kind objstore.Kind, data []byte) error {
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return err
	}
	head := kind.String() + " " + strconv.Itoa(len(data)) + "\x00"
	if _, err := z.Write(append([]byte(head), data...)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	path := q.file(id)
	err = os.WriteFile(path, packed.Bytes(), 0o444)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		err = os.WriteFile(path, packed.Bytes(), 0o444)
	}
	return err
}

// gitEnv lets git write its objects into the quarantine and read those of the repository,
// and those of the directories that the user's environment names.
func (q *quarantine) gitEnv(w *Workspace) []string {
	dirs := []string{quoteAlternate(filepath.Join(w.Repo.CommonDir, "objects"))}
	for _, name := range []string{"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"} {
		value := lookupEnv(w.env, name)
		if name == "GIT_OBJECT_DIRECTORY" && value != "" {
			value = quoteAlternate(value)
		}
		if value != "" {
			dirs = append(dirs, value)
		}
	}
	return []string{
		"GIT_OBJECT_DIRECTORY=" + q.dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join(dirs, string(filepath.ListSeparator)),
	}
}

// lookupEnv is the value of a variable; as for every process, the last one counts.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
