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

// collectNote is the file, in the store's private folder, with the ids of the objects that are being
// collected, one a line. No ref leads to them any more.
const collectNote = "collecting"

func (k *Keeper) collectNote() string { return filepath.Join(k.store.Private(), collectNote) }

// readNoted reads the note.
func (k *Keeper) readNoted() (map[objstore.ID]struct{}, error) { return readIDs(k.collectNote()) }

// note writes the note, and returns when it is on stable storage.
func (k *Keeper) note(ids map[objstore.ID]struct{}) error { return noteIDs(k.collectNote(), ids) }

// readIDs reads a file of ids and ignores other lines. A missing file has no ids.
func readIDs(path string) (_ map[objstore.ID]struct{}, err error) {
	ids := make(map[objstore.ID]struct{})
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if id, err := objstore.ParseID(lines.Text()); err == nil {
			ids[id] = struct{}{}
		}
	}
	return ids, lines.Err()
}

// noteIDs writes a file of ids, and returns when it is on stable storage.
func noteIDs(path string, ids map[objstore.ID]struct{}) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	for id := range ids {
		_, _ = w.WriteString(id.String() + "\n") // Flush returns the error
	}
	if err := errors.Join(w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return fsx.SyncDir(folder)
}

// dropNote removes the note.
func (k *Keeper) dropNote() error {
	err := os.Remove(k.collectNote())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
