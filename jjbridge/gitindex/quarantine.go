package gitindex

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zlib"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// quarantinePrefix begins the names of quarantines in a Folder.
const quarantinePrefix = "objects-"

// Quarantine is an object directory for the new objects of one capture, until they are stored with the
// capture. It is locked as long as it lives: if the lock is free, the process is dead.
type Quarantine struct {
	Dir  string
	lock *flock.Flock
}

// NewQuarantine makes an empty quarantine. The locked Folder keeps others from removing the quarantine
// as abandoned before the quarantine's own lock is held.
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

// Close removes the quarantine.
func (q *Quarantine) Close() error {
	err := os.RemoveAll(q.Dir)
	if errors.Is(err, fs.ErrExist) {
		// The folder is not empty: another capture has found it without a lock, has put a lock there,
		// and removes the folder, too.
		err = nil
	}
	return errors.Join(err, q.lock.Close())
}

// removeStaleQuarantine removes a quarantine whose process is dead. If that fails, the next lock of the
// Folder tries again.
func removeStaleQuarantine(dir string) {
	lock := flock.New(filepath.Join(dir, "lock"))
	if held, err := lock.TryLock(); err == nil && held {
		_ = os.RemoveAll(dir) // see above
	}
	_ = lock.Close() // nothing was written
}

// Has reports whether the quarantine has the object as a loose object.
func (q *Quarantine) Has(id objstore.ID) bool {
	_, err := os.Lstat(q.file(id))
	return err == nil
}

func (q *Quarantine) file(id objstore.ID) string {
	name := id.String()
	return filepath.Join(q.Dir, name[:2], name[2:])
}

// Add writes a loose object.
func (q *Quarantine) Add(id objstore.ID, kind objstore.Kind, data []byte) error {
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

// GitEnv returns the environment that lets git write its objects into the quarantine, and read the repository's object
// directory and those that the user's environment names.
func (q *Quarantine) GitEnv(objects string, env []string) []string {
	dirs := []string{QuoteAlternate(objects)}
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

// QuoteAlternate returns a directory as git reads it in a list of directories: quoted and escaped if
// its name has a quote, a line feed or the separator of lists.
func QuoteAlternate(dir string) string {
	if !strings.ContainsAny(dir, "\"\n"+string(filepath.ListSeparator)) {
		return dir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(dir) + `"`
}
