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
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// reader reads refs as git's files backend stores them: in a file for each ref, or in a line of packed-refs.
// If a ref has both, the file counts. git pack-refs writes packed-refs before it removes the files. So a
// reader that looks at the files first misses no ref.
//
// If tables is not nil, the refs are in reftables, and there are no such files.
type reader struct {
	dir    string // the common directory
	hexLen int    // hex digits of an id
	tables *reftable.Stack
}

// path returns the path of the file of a loose ref.
func (r reader) path(name Name) string { return filepath.Join(r.dir, filepath.FromSlash(string(name))) }

// resolve returns the value of a ref, or the zero id if the ref does not exist. If the ref is broken, the error is a
// *BrokenError.
func (r reader) resolve(name Name) (objstore.ID, error) {
	if r.tables != nil {
		return r.tabled(name)
	}
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

// loose returns the id in the file of a ref, or the zero id if the ref has no file. If the file is invalid or holds a
// symbolic ref, the error is a *BrokenError. A ref in a reftable counts as a file.
func (r reader) loose(name Name) (objstore.ID, error) {
	if r.tables != nil {
		return r.tabled(name)
	}
	path := r.path(name)
	// A valid file has the id and a line feed. The second extra byte shows that a file is too long.
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

// isNoFile reports whether err means that no file is at the path: nothing has the name, a folder has the
// name, or a file is in the place of a folder of the path.
func isNoFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}

const (
	symbolic  = "the file holds a symbolic ref"
	emptyFile = "the file is empty"
)

// parseLoose returns the id in content, the content of a ref's file. Valid content is an id of hexLen hex digits and
// a line feed. If content is invalid, parseLoose returns the zero id and the reason. Otherwise reason is "".
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

// Resolve returns the value of a ref. If the ref does not exist, the error wraps ErrNotFound. If the ref is broken,
// it wraps ErrBroken. If name is invalid, it wraps ErrMalformed.
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

// obstructed returns an error that wraps ErrObstructed if a ref file cannot exist together with name, because
// one name is a folder of the other. Otherwise it returns nil.
func (r reader) obstructed(name Name) error {
	if r.tables != nil {
		view, err := r.view()
		if err != nil {
			return err
		}
		return explainTables(view.Obstructed(string(name)))
	}
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
