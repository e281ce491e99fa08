package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// copies are the repositories that git has made in this process: the next ones are copies of them, because git takes five processes for each.
var copies sync.Map // the copied files, by what git depends on

// copied is a file or a folder of a repository.
type copied struct {
	name string
	mode fs.FileMode
	data []byte
}

// make makes the repository in Dir, by git or as a copy.
func (r *Repo) make(o options) {
	r.t.Helper()
	key := [...]any{o, ObjectFormat(), RefFormat(), os.Getenv("PATH")}
	found, _ := copies.Load(key)
	known, ok := found.([]copied)
	if !ok {
		r.makeByGit(o)
		files, err := copyOf(r.Dir)
		if err != nil {
			r.t.Fatal(err)
		}
		copies.Store(key, files)
		return
	}
	for _, file := range known {
		path, err := filepath.Join(r.Dir, file.name), error(nil)
		if file.mode.IsDir() {
			err = os.MkdirAll(path, file.mode.Perm())
		} else {
			err = os.WriteFile(path, file.data, file.mode.Perm())
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if o.commit && !o.bare {
		r.Git("update-index", "-q", "--refresh") // the index has the times of the files
	}
}

// copyOf returns the files and folders in a folder.
func copyOf(dir string) (files []copied, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		file := copied{mode: info.Mode()}
		if file.name, err = filepath.Rel(dir, path); err == nil && !entry.IsDir() {
			file.data, err = os.ReadFile(path)
		}
		files = append(files, file)
		return err
	})
	return files, err
}
