package objstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// packFiles manages the files of packs in a folder by the names of the packs. It does not read
// packs.
type packFiles struct {
	dir  string
	temp *tempDir
}

// path returns the path of a file of the pack with the given name. suffix selects the file, such as ".idx".
func (f packFiles) path(name, suffix string) string {
	return filepath.Join(f.dir, name+suffix)
}

// madeAt returns the modification time of a pack file. The error wraps fs.ErrNotExist if the pack
// or its index is missing.
func (f packFiles) madeAt(name string) (time.Time, error) {
	if _, err := os.Stat(f.path(name, ".idx")); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(f.path(name, ".pack"))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// isKept reports whether a pack has a .keep file, of any program.
func (f packFiles) isKept(name string) bool {
	_, err := os.Lstat(f.path(name, ".keep"))
	return err == nil
}

// isKeptByUs reports whether a pack has a .keep file that this program made.
func (f packFiles) isKeptByUs(name string) bool { return f.temp.isOurKeep(f.path(name, ".keep")) }

// isMarked reports whether a pack has a .keep, .promisor, .mtimes or .bitmap file. Such a pack must not be
// removed.
func (f packFiles) isMarked(name string) bool {
	return slices.ContainsFunc([]string{".keep", ".promisor", ".mtimes", ".bitmap"}, func(suffix string) bool {
		_, err := os.Lstat(f.path(name, suffix))
		return err == nil
	})
}

// isGone reports whether both the pack file and the index of a pack are missing. git and merges remove the
// index first. A pack without an index but with its pack file is not gone yet.
func (f packFiles) isGone(name string) bool {
	return !isThere(f.path(name, ".idx")) && !isThere(f.path(name, ".pack"))
}

// dropKeep removes the .keep file of a pack if this program made it, and reports whether it removed
// the file.
func (f packFiles) dropKeep(name string) bool {
	return f.isKeptByUs(name) && f.temp.fs.Remove(f.path(name, ".keep")) == nil
}

// remove removes the index, the .rev file and the pack file of a pack. Missing files are not an error. remove
// removes the index first, because git finds packs by their indexes. Windows does not remove a pack that git has open, and the
// pack must not be left without its index: there, the pack is first.
func (f packFiles) remove(name string) error {
	suffixes := []string{".idx", ".rev", ".pack"}
	if runtime.GOOS == "windows" {
		slices.Reverse(suffixes)
	}
	for _, suffix := range suffixes {
		err := f.temp.fs.Remove(f.path(name, suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// setAside moves all files of a pack to the folder asideDir. If git's multi-pack-index names the pack, setAside
// also moves the files of the multi-pack-index. If the multi-pack-index is malformed, it stays in place.
func (f packFiles) setAside(name, asideDir string) error {
	held, err := midxPacks(f.dir)
	if err != nil && !errors.Is(err, errMidx) {
		return err
	}
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		// If file belongs to a pack, its name without the extension is the name of the pack.
		of := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
		if of == name || held[name] && strings.HasPrefix(file.Name(), midxFile) {
			names = append(names, file.Name())
		}
	}
	// Move all other files before the pack file, because git finds packs by their indexes.
	for _, index := range []bool{true, false} {
		for _, file := range names {
			if (filepath.Ext(file) != ".pack") == index {
				if err := moveAside(f.temp.fs, filepath.Join(f.dir, file), asideDir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sync puts the names of the files in the folder on stable storage. It does not sync the bytes of the files.
func (f packFiles) sync() error { return f.temp.fs.SyncDir(f.dir) }

// moveAside moves a file into a folder, under a name that no other file has there. It creates the folder if
// necessary. A missing file is not an error.
func moveAside(files fsx.FS, path, folder string) error {
	if err := files.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	err := files.Rename(path, freeName(filepath.Join(folder, filepath.Base(path))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// freeName returns path if no file exists there. Otherwise it appends ".2", ".3" and so on, and returns the
// first path without a file.
func freeName(path string) string {
	free := path
	for n := 2; isThere(free); n++ {
		free = path + "." + strconv.Itoa(n)
	}
	return free
}

// isThere reports whether a file exists. It returns true if the file system returns any error other than
// fs.ErrNotExist.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
