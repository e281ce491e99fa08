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

// idFile is the path of a file of ids, one a line.
type idFile string

// read reads the ids, and ignores other lines. A missing file has no ids.
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

// write writes the ids, and returns when they are on stable storage.
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

// remove removes the file. A missing file is fine.
func (f idFile) remove() error {
	err := os.Remove(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
