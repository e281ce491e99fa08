package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

// reader reads refs as git's files backend stores them: a file each, or a line of
// packed-refs. The file wins. git pack-refs writes packed-refs before it removes the
// files, so a reader looks at the files first and misses no ref.
type reader struct {
	dir    string // the common directory
	hexLen int    // hex digits of an id
}

// path returns the file of a loose ref.
func (r reader) path(name Name) string { return filepath.Join(r.dir, filepath.FromSlash(string(name))) }

// resolve reads one ref; zero if there is none.
func (r reader) resolve(name Name) (objstore.ID, error) {
	id, err := r.loose(name)
	if err != nil || !id.IsZero() {
		return id, err
	}
	packed, err := r.openPacked()
	if err != nil {
		return objstore.ID{}, err
	}
	id, err = packed.lookup(name)
	if err = errors.Join(err, packed.close()); err != nil || !id.IsZero() {
		return id, err
	}
	// Between the two reads, the ref may have become loose.
	return r.loose(name)
}

// loose reads the file of one ref; zero if there is none.
func (r reader) loose(name Name) (objstore.ID, error) {
	path := r.path(name)
	var buf [2*32 + 2]byte
	n, err := fsx.ReadSmall(path, buf[:r.hexLen+2])
	if err != nil {
		if isNoFile(err) {
			return objstore.ID{}, nil
		}
		return objstore.ID{}, fmt.Errorf("read %s: %w", name, err)
	}
	id, reason := parseLoose(buf[:n], r.hexLen)
	if reason != "" {
		return objstore.ID{}, &BrokenError{Name: name, Path: path, Reason: reason, Symbolic: reason == symbolic}
	}
	return id, nil
}

// isNoFile reports whether err means that path is not a file: another ref's name may need a folder
// there, or a file in place of a folder.
func isNoFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}

const (
	symbolic  = "it is a symbolic ref"
	emptyFile = "the file is empty"
)

// parseLoose reads the content of a ref's file, an id and a line feed, or returns the
// reason why it is invalid.
func parseLoose(content []byte, hexLen int) (id objstore.ID, reason string) {
	switch {
	case len(content) == 0:
		return objstore.ID{}, emptyFile
	case len(content) >= 4 && string(content[:4]) == "ref:":
		return objstore.ID{}, symbolic
	case len(content) != hexLen+1 || content[hexLen] != '\n':
		return objstore.ID{}, "the file does not hold an object id and a line feed"
	}
	id, err := objstore.ParseID(string(content[:hexLen]))
	if err != nil || id.IsZero() {
		return objstore.ID{}, "the file does not hold an object id"
	}
	return id, ""
}

// Resolve reads one ref. Errors wrap ErrNotFound or ErrBroken.
func (db *DB) Resolve(ctx context.Context, name Name) (objstore.ID, error) {
	if err := ctx.Err(); err != nil {
		return objstore.ID{}, err
	}
	if err := name.check(); err != nil {
		return objstore.ID{}, err
	}
	id, err := db.reader.resolve(name)
	if err == nil && id.IsZero() {
		err = fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return id, err
}

// obstructed looks for ref files that cannot exist beside name, because one name is a folder of the
// other.
func (r reader) obstructed(name Name) error {
	for folder := filepath.Dir(r.path(name)); len(folder) > len(r.dir); folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			return fmt.Errorf("%w of %s: %s", ErrObstructed, name, folder)
		}
	}
	return filepath.WalkDir(r.path(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != r.path(name) {
			return fmt.Errorf("%w of %s: %s", ErrObstructed, name, path)
		}
		return nil // a missing file obstructs nothing
	})
}
