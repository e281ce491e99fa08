// Package consent keeps strangers' commands from running: a workflow runs in a clone only if somebody there agreed to
// its bytes.
package consent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Workflow is a workflow definition whose commands somebody agreed to run in this clone.
// Only Ask makes one. The zero value holds no definition.
type Workflow struct{ definition []byte }

// Definition returns the bytes that were agreed to; nil of the zero value.
func (c Workflow) Definition() []byte { return bytes.Clone(c.definition) }

// trustedFolder holds an empty file for each workflow whose commands may run in this
// clone, named for its hash, under the store's private folder.
const trustedFolder = "trusted"

// Ask returns the workflow as one that may run in this clone. If the clone has no note
// of the workflow's hash, ask decides: its error is returned, and nothing is noted.
// Otherwise the hash is noted, so that ask is not called for it again. A note that cannot be
// written is a warning; one that cannot be read is an error.
//
// ask must have shown the workflow to whoever agrees, or know that they named its file.
// The note is no history: it is not pushed, and goes with the store's private folder.
func Ask(s *timeline.Store, workflow *snapshot.Workflow, ask func() error) (Workflow, error) {
	agreed := Workflow{definition: append([]byte{}, workflow.Definition...)}
	hash := workflow.Hash()
	noted, err := isTrusted(s, hash)
	if err != nil {
		return Workflow{}, err
	}
	if noted {
		return agreed, nil
	}
	if err := ask(); err != nil {
		return Workflow{}, err
	}
	if err := noteTrusted(s, hash); err != nil {
		s.Warn(fmt.Errorf("that the workflow may run here is not noted: %w", err))
	}
	return agreed, nil
}

// isTrusted reports whether the clone has a note of the hash.
func isTrusted(s *timeline.Store, hash string) (bool, error) {
	info, err := os.Lstat(trustedPath(s, hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), timeline.Explain(err)
}

// noteTrusted notes the hash of a workflow that was agreed to. Only Ask calls it.
func noteTrusted(s *timeline.Store, hash string) error {
	path := trustedPath(s, hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return timeline.Explain(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil || !s.Settings().Fsync { //nolint:gosec // the same
		return timeline.Explain(err)
	}
	// A supervisor goes on after a power cut with what ran before.
	return timeline.Explain(errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(s.Private())))
}

func trustedPath(s *timeline.Store, hash string) string {
	return filepath.Join(s.Private(), trustedFolder, hash)
}
