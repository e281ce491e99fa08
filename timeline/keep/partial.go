package keep

import (
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline"
)

// isPartial reports whether a repository has objects that a remote has promised to keep: git marks their packs with files that end in .promisor, and
// repacks them as they are.
func isPartial(s *timeline.Store) bool {
	marks, err := filepath.Glob(filepath.Join(fsx.GlobQuote(s.Repo().CommonDir), "objects", "pack", "*.promisor"))
	return err == nil && len(marks) > 0
}
