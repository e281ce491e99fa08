package prune

import (
	"bufio"
	"errors"
	"io/fs"
	"os"

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
func (f idFile) write(ids map[objstore.ID]struct{}) error {
	var text []byte
	for id := range ids {
		text = append(text, id.String()+"\n"...)
	}
	return fsx.Replace(string(f), text, 0o600)
}

// remove deletes the file. A missing file is not an error.
func (f idFile) remove() error {
	err := os.Remove(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
