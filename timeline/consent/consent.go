// Package consent keeps strangers' commands from running: a workflow runs in a clone only if a user of the clone agreed
// to its bytes.
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

// Workflow is a workflow definition whose commands the user agreed to run in this clone.
// Only Ask makes a Workflow with a definition. The zero value holds no definition.
type Workflow struct{ definition []byte }

// Definition returns the bytes that were agreed to; nil of the zero value.
func (c Workflow) Definition() []byte { return bytes.Clone(c.definition) }

// trustedFolder is a folder in the store's private folder. It holds an empty file for each workflow whose commands may
// run in this clone, named for the workflow's hash.
const trustedFolder = "trusted"

// Ask returns the workflow if it may run in this clone. If the clone has no note of the workflow's hash, Ask calls
// ask. If ask returns an error, Ask returns that error and notes nothing. If ask returns nil, Ask notes the hash, so
// that ask is not called for it again. A failure to write the note is a warning; a failure to read it is an error.
//
// ask must show the workflow to the user, or know that the user named its file. The note is not part of the history: it
// is not pushed, and is lost with the store's private folder.
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
		s.Warn(fmt.Errorf("note that the workflow may run here: %w", err))
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

// noteTrusted notes the hash of a workflow that the user agreed to. Only Ask calls it.
func noteTrusted(s *timeline.Store, hash string) error {
	path := trustedPath(s, hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return timeline.Explain(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil || !s.Settings().Fsync { //nolint:gosec // the same
		return timeline.Explain(err)
	}
	// After a power cut, a supervisor resumes runs whose workflows were agreed to before.
	return timeline.Explain(errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(s.Private())))
}

func trustedPath(s *timeline.Store, hash string) string {
	return filepath.Join(s.Private(), trustedFolder, hash)
}
