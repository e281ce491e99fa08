package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Consented is a workflow definition whose commands somebody agreed to run in this clone.
// Only Store.Consent makes one. The zero value holds no definition.
type Consented struct{ definition []byte }

// Definition returns the bytes that were agreed to; nil of the zero value.
func (c Consented) Definition() []byte { return bytes.Clone(c.definition) }

// trustedFolder holds an empty file for each workflow whose commands may run in this
// clone, named for its hash, under the store's private folder.
const trustedFolder = "trusted"

// Consent returns the workflow as one that may run in this clone. If the clone has no note
// of the workflow's hash, ask decides: its error is returned, and nothing is noted.
// Otherwise the hash is noted, so that ask is not called for it again. A note that cannot be
// written is a warning; one that cannot be read is an error.
//
// ask must have shown the workflow to whoever agrees, or know that they named its file.
// The note is no history: it is not pushed, and goes with the store's private folder.
func (s *Store) Consent(workflow *snapshot.Workflow, ask func() error) (Consented, error) {
	agreed := Consented{definition: append([]byte{}, workflow.Definition...)}
	hash := workflow.Hash()
	noted, err := s.isTrusted(hash)
	if err != nil {
		return Consented{}, err
	}
	if noted {
		return agreed, nil
	}
	if err := ask(); err != nil {
		return Consented{}, err
	}
	if err := s.noteTrusted(hash); err != nil {
		s.warn(fmt.Errorf("that the workflow may run here is not noted: %w", err))
	}
	return agreed, nil
}

// isTrusted reports whether the clone has a note of the hash.
func (s *Store) isTrusted(hash string) (bool, error) {
	info, err := os.Lstat(s.trustedPath(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), Explain(err)
}

// noteTrusted notes the hash of a workflow that was agreed to. Only Consent calls it.
func (s *Store) noteTrusted(hash string) error {
	path := s.trustedPath(hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return Explain(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil || !s.settings.Fsync { //nolint:gosec // the same
		return Explain(err)
	}
	// A supervisor goes on after a power cut with what ran before.
	return Explain(errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(s.Private())))
}

func (s *Store) trustedPath(hash string) string {
	return filepath.Join(s.Private(), trustedFolder, hash)
}
