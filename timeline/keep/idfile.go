package keep

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

// idFile is the path of a text file with one object id on each line.
type idFile string

// read returns the ids in the file, and ignores invalid lines. It returns an empty map if the file is
// missing.
func (f idFile) read() (_ map[objstore.ID]struct{}, err error) {
	ids := make(map[objstore.ID]struct{})
	file, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if id, err := objstore.ParseID(lines.Text()); err == nil {
			ids[id] = struct{}{}
		}
	}
	return ids, lines.Err()
}

// write replaces the content of the file by the given ids, and returns after they are on stable storage. It
// creates missing folders. Another process sees either the old or the new content.
func (f idFile) write(ids map[objstore.ID]struct{}) (err error) {
	folder := filepath.Dir(string(f))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, filepath.Base(string(f))+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	w := bufio.NewWriter(temp)
	for id := range ids {
		_, _ = w.WriteString(id.String() + "\n") // Flush returns the error
	}
	if err := errors.Join(w.Flush(), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), string(f)); err != nil {
		return err
	}
	return fsx.SyncDir(folder)
}

// remove deletes the file. A missing file is not an error.
func (f idFile) remove() error {
	err := os.Remove(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
