package objstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// packFiles knows the files of packs in a folder by the packs' names. It opens none of them.
type packFiles struct {
	dir  string
	temp *tempDir
}

// path is where a file of the named pack belongs.
func (f packFiles) path(name, suffix string) string {
	return filepath.Join(f.dir, name+suffix)
}

// madeAt returns the time of a pack that has an index.
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

// isKept reports whether a pack has a .keep file.
func (f packFiles) isKept(name string) bool {
	_, err := os.Lstat(f.path(name, ".keep"))
	return err == nil
}

// isKeptByUs reports whether a pack has a .keep file that this package has made.
func (f packFiles) isKeptByUs(name string) bool { return f.temp.isOurKeep(f.path(name, ".keep")) }

// isMarked reports whether a file beside a pack demands that the pack stays.
func (f packFiles) isMarked(name string) bool {
	return slices.ContainsFunc([]string{".keep", ".promisor", ".mtimes", ".bitmap"}, func(suffix string) bool {
		_, err := os.Lstat(f.path(name, suffix))
		return err == nil
	})
}

// isGone reports whether a pack was removed with its index: git and merges remove the index first.
func (f packFiles) isGone(name string) bool {
	return !isThere(f.path(name, ".idx")) && !isThere(f.path(name, ".pack"))
}

// dropKeep removes the .keep file of a pack if this package has made it. It reports whether it did.
func (f packFiles) dropKeep(name string) bool {
	return f.isKeptByUs(name) && f.temp.fs.Remove(f.path(name, ".keep")) == nil
}

// remove removes the files of a pack. The index goes first: git finds packs by their indexes.
func (f packFiles) remove(name string) error {
	for _, suffix := range []string{".idx", ".rev", ".pack"} {
		err := f.temp.fs.Remove(f.path(name, suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// setAside moves the files of a pack to a folder, and a multi-pack-index that names the pack.
func (f packFiles) setAside(name, aside string) error {
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
		of := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
		if of == name || held[name] && strings.HasPrefix(file.Name(), midxFile) {
			names = append(names, file.Name())
		}
	}
	// The index goes first: git finds packs by their indexes.
	for _, index := range []bool{true, false} {
		for _, file := range names {
			if (filepath.Ext(file) != ".pack") == index {
				if err := moveAside(f.temp.fs, filepath.Join(f.dir, file), aside); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sync puts the names of the files on stable storage.
func (f packFiles) sync() error { return f.temp.fs.SyncDir(f.dir) }

// moveAside moves a file to a folder, under a name that is free there. A missing file is not an error.
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

// freeName returns the path, with a number behind it if a file is there already.
func freeName(path string) string {
	free := path
	for n := 2; isThere(free); n++ {
		free = path + "." + strconv.Itoa(n)
	}
	return free
}

// isThere reports whether a file exists.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
