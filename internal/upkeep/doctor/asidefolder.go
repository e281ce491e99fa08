package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	// damagedFolder is the name of the folder for damaged files, in the store's private folder.
	damagedFolder = "damaged"
	// movedRefs is the name of the file, in the folder for damaged files, with the former values of refs.
	movedRefs = "moved-refs"
	// longestName is the length in bytes at which the name of a saved file is cut. File systems allow 255, and a number
	// may follow.
	longestName = 200
)

// asideFolder is the folder for damaged files, in the store's private folder. Repairs save files there before
// they change or remove them.
type asideFolder struct {
	private   string // the store's private folder
	commonDir string // the repository's common directory
}

// path returns the path of parts in the folder for damaged files. Without parts, it returns the path of the folder.
func (f asideFolder) path(parts ...string) string {
	return filepath.Join(append([]string{f.private, damagedFolder}, parts...)...)
}

// inCommonDir returns the file system path of file, a slash-separated path relative to the common directory, as
// in Finding.Where.
func (f asideFolder) inCommonDir(file string) string {
	return filepath.Join(f.commonDir, filepath.FromSlash(file))
}

// move moves file, a path below the common directory, to the folder for damaged files. A missing file is not
// an error.
func (f asideFolder) move(file string) error {
	to, err := f.free(file)
	if err != nil {
		return err
	}
	from := f.inCommonDir(file)
	if err := os.Rename(from, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(fsx.SyncDir(filepath.Dir(to)), fsx.SyncDir(filepath.Dir(from)))
}

// free returns an unused path, in the folder for damaged files, to which file can move. file is a path below
// the common directory. free creates the folder if necessary, but no file.
func (f asideFolder) free(file string) (string, error) {
	name := strings.ReplaceAll(file, "/", "%2f")
	to := f.path(name[:min(len(name), longestName)])
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return "", err
	}
	free := to
	for n := 2; ; n++ {
		_, err := os.Lstat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = to + "." + strconv.Itoa(n)
	}
}

// copy copies file, a path below the common directory, to the folder for damaged files. It ignores a file
// that is empty, missing or unreadable.
func (f asideFolder) copy(file string) error {
	data, err := os.ReadFile(f.inCommonDir(file))
	if err != nil || len(data) == 0 {
		return nil //nolint:nilerr // an unreadable file cannot be saved, and the repair must continue
	}
	to, err := f.free(file)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// writeDown appends a line with a ref and its value to the file movedRefs. name is the name of the ref, and id is the
// value. Repairs call writeDown before they move or remove the ref.
func (f asideFolder) writeDown(name refs.Name, id objstore.ID) error {
	path := f.path(movedRefs)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%v %s\n", id, name)
	return errors.Join(err, file.Sync(), file.Close())
}

// droppedLines returns the invalid lines that earlier repairs removed from packed-refs. It reads them from
// the saved copies of the file.
func (f asideFolder) droppedLines() ([]refs.PackedLine, error) {
	kept, err := filepath.Glob(fsx.GlobQuote(f.path(packedRefs)) + "*")
	if err != nil {
		return nil, err
	}
	var dropped []refs.PackedLine
	for _, path := range kept {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		_, broken := refs.SoundPacked(data)
		dropped = append(dropped, broken...)
	}
	return dropped, nil
}
