package timeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// trustedFolder holds an empty file for each workflow whose commands may run in this
// clone, named for its hash, under the store's private folder.
const trustedFolder = "trusted"

// Trusts tells whether the commands of a workflow were run or confirmed in this clone, by
// the workflow's hash (snapshot.Run.WorkflowHash). "" is never trusted.
func (s *Store) Trusts(workflowHash string) (bool, error) {
	if !isWorkflowHash(workflowHash) {
		return false, nil
	}
	info, err := os.Lstat(s.trustedPath(workflowHash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), Explain(err)
}

// Trust notes that the commands of a workflow may run in this clone. The note is no
// history: it is not pushed, and goes with the store's private folder. What is no
// workflow's hash is not noted.
func (s *Store) Trust(workflowHash string) error {
	trusted, err := s.Trusts(workflowHash)
	if err != nil || trusted || !isWorkflowHash(workflowHash) {
		return err
	}
	path := s.trustedPath(workflowHash)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask says who may read the repository
		return Explain(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil || !s.settings.fsync { //nolint:gosec // the same
		return Explain(err)
	}
	// A supervisor goes on after a power cut with what ran before.
	return Explain(errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(s.privatePath())))
}

func (s *Store) trustedPath(workflowHash string) string {
	return filepath.Join(s.privatePath(), trustedFolder, workflowHash)
}

// isWorkflowHash tells whether text is the hash of a workflow. What a run's row says may
// come from elsewhere, and is about to be a file's name.
func isWorkflowHash(text string) bool {
	const size = 64
	return len(text) == size && strings.Trim(text, "0123456789abcdef") == ""
}
