package jjbridge

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// objectsDir returns the path of the object directory of repo.
func objectsDir(repo gitexec.Repo) string { return filepath.Join(repo.CommonDir, "objects") }

// openObjects opens dir, the object directory of repo or a quarantine of repo, for reading. The caller must
// close the store.
func openObjects(repo gitexec.Repo, dir string) (*objstore.Store, error) {
	return objstore.Open(objstore.Options{Hash: algorithm(repo), ObjectsDir: dir, TempDir: filepath.Join(repo.CommonDir, "smithers", "tmp")})
}

// algorithm returns the hash with which a repository names its objects.
func algorithm(repo gitexec.Repo) objstore.Algorithm { return objstore.AlgorithmOf(repo.ObjectFormat) }

// withObjects calls f with an object store of repo and returns f's error. If store is not nil, f gets store,
// which stays open. Otherwise withObjects opens an object store, and closes it after the call.
func withObjects(repo gitexec.Repo, store *objstore.Store, f func(*objstore.Store) error) (err error) {
	if store == nil {
		if store, err = openObjects(repo, objectsDir(repo)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
	}
	return f(store)
}

// capturedReader reads the objects of a capture, first from the repository and then from the capture. Most objects are in
// the repository, and a store looks for an object that it lacks in several places.
type capturedReader struct {
	captured   *objstore.Store // nil if all objects are in the repository
	repository *objstore.Store
}

// Hash returns the hash with which the repository names its objects.
func (r capturedReader) Hash() objstore.Algorithm { return r.repository.Hash() }

// Get returns the kind and the bytes of an object, which may be of any size that the stores of r allow. If
// neither store of r has the object, the error wraps objstore.ErrNotFound.
func (r capturedReader) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	return r.GetAtMost(id, math.MaxInt64)
}

// GetAtMost returns the kind and the bytes of an object. It returns an error if the object has more than limit
// bytes. If neither store of r has the object, the error wraps objstore.ErrNotFound.
func (r capturedReader) GetAtMost(id objstore.ID, limit int64) (objstore.Kind, []byte, error) {
	kind, data, err := r.repository.GetAtMost(id, limit)
	if err == nil || r.captured == nil {
		return kind, data, err
	}
	kind, data, captured := r.captured.GetAtMost(id, limit)
	if errors.Is(captured, objstore.ErrNotFound) {
		return kind, data, err
	}
	return kind, data, captured
}
