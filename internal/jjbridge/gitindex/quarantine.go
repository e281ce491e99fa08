package gitindex

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zlib"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// quarantinePrefix is the start of the names of quarantines in a Folder.
const quarantinePrefix = "objects-"

// Quarantine is an object directory for the new objects of one capture, until they are stored with the capture. The
// process that captures holds a lock in the directory. If the lock is free, this process is dead.
type Quarantine struct {
	Dir  string
	lock *flock.Flock
}

// NewQuarantine creates an empty quarantine in f. The caller must close the quarantine. f must be locked,
// because Lock removes every quarantine that no process has locked, and a new quarantine is unlocked at first.
func (f *Folder) NewQuarantine() (*Quarantine, error) {
	dir, err := os.MkdirTemp(f.Dir, quarantinePrefix)
	if err != nil {
		return nil, err
	}
	q := &Quarantine{Dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
	if _, err := q.lock.TryLock(); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// Close removes the quarantine with its objects and releases the quarantine's lock.
func (q *Quarantine) Close() error {
	return fsx.RemoveHeld(q.lock, func() error {
		err := os.RemoveAll(q.Dir)
		if errors.Is(err, fs.ErrExist) {
			// The folder is not empty, because another capture found it after RemoveAll had removed the lock file. The
			// other capture has made a new lock file, and removes the folder, too.
			err = nil
		}
		return err
	})
}

// removeStaleQuarantine removes the quarantine at dir if no process has locked it. It ignores errors, because
// the next lock of the Folder tries again.
func removeStaleQuarantine(dir string) {
	lock := flock.New(filepath.Join(dir, "lock"))
	held, err := lock.TryLock()
	if err != nil || !held {
		_ = lock.Close() // the lock file has no data to lose
		return
	}
	_ = fsx.RemoveHeld(lock, func() error { return os.RemoveAll(dir) }) // the next lock of the Folder tries again
}

// Has reports whether the quarantine has the object with the given id as a loose object.
func (q *Quarantine) Has(id objstore.ID) bool {
	_, err := os.Lstat(q.File(id))
	return err == nil
}

// File returns the path of the loose object with the given id, which may be missing.
func (q *Quarantine) File(id objstore.ID) string {
	name := id.String()
	return filepath.Join(q.Dir, name[:2], name[2:])
}

// Add writes a loose object with the content data, unless the quarantine has the object already. id must be
// the hash of kind and data.
func (q *Quarantine) Add(id objstore.ID, kind objstore.Kind, data []byte) error {
	if q.Has(id) {
		return nil
	}
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
	path := q.File(id)
	err = os.WriteFile(path, packed.Bytes(), 0o444)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		err = os.WriteFile(path, packed.Bytes(), 0o444)
	}
	return err
}

// Keep removes the loose objects of the quarantine whose ids are not in ids.
func (q *Quarantine) Keep(ids map[objstore.ID]bool) error {
	folders, err := os.ReadDir(q.Dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 { // a loose object is a file in a folder with two digits as name
			continue
		}
		files, err := os.ReadDir(filepath.Join(q.Dir, folder.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			id, err := objstore.ParseID(folder.Name() + file.Name())
			if err != nil || ids[id] {
				continue
			}
			if err := os.Remove(q.File(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// GitEnv returns the variables with which git writes new objects into the quarantine. objectDir is the object
// directory of the repository, and env is the user's environment. git also reads objectDir and the object
// directories in GIT_OBJECT_DIRECTORY and GIT_ALTERNATE_OBJECT_DIRECTORIES of env.
func (q *Quarantine) GitEnv(objectDir string, env []string) []string {
	dirs := []string{QuoteAlternate(objectDir)}
	for _, name := range []string{"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"} {
		value, _ := gitexec.LookupEnv(env, name)
		if name == "GIT_OBJECT_DIRECTORY" && value != "" {
			value = QuoteAlternate(value)
		}
		if value != "" {
			dirs = append(dirs, value)
		}
	}
	return []string{
		"GIT_OBJECT_DIRECTORY=" + q.Dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join(dirs, string(filepath.ListSeparator)),
	}
}

// QuoteAlternate returns dir as git reads it in a list of object directories: quoted and escaped if dir has a
// quote, a line feed or the separator of lists.
func QuoteAlternate(dir string) string {
	if !strings.ContainsAny(dir, "\"\n"+string(filepath.ListSeparator)) {
		return dir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(dir) + `"`
}
