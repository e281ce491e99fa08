package jjbridge

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// objectsDir returns the object directory of a repository.
func objectsDir(repo gitexec.Repo) string { return filepath.Join(repo.CommonDir, "objects") }

// openObjects opens an object directory of a repository, or a quarantine of it, for reading.
func openObjects(repo gitexec.Repo, dir string) (*objstore.Store, error) {
	return objstore.Open(objstore.Options{ObjectsDir: dir, TempDir: filepath.Join(repo.CommonDir, "smithers", "tmp")})
}

// withObjects calls f with the object store of a repository: with open or, if open is nil, with a
// store that is closed after the call.
func withObjects(repo gitexec.Repo, open *objstore.Store, f func(*objstore.Store) error) (err error) {
	if open == nil {
		if open, err = openObjects(repo, objectsDir(repo)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, open.Close()) }()
	}
	return f(open)
}

// capturedReader reads the objects of a capture, some of which may not be in the repository.
type capturedReader struct {
	captured   *objstore.Store // nil if all of them are in the repository
	repository *objstore.Store
}

// Get is GetAtMost without a bound.
func (r capturedReader) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	return r.GetAtMost(id, math.MaxInt64)
}

// GetAtMost returns an object of at most most bytes.
func (r capturedReader) GetAtMost(id objstore.ID, most int64) (objstore.Kind, []byte, error) {
	if r.captured != nil {
		kind, data, err := r.captured.GetAtMost(id, most)
		if !errors.Is(err, objstore.ErrNotFound) {
			return kind, data, err
		}
	}
	return r.repository.GetAtMost(id, most)
}
