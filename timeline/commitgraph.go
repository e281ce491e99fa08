package timeline

import (
	"context"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// addToCommitGraph has git add what is reachable to its commit-graph. With it, a tip costs
// a fetch or a push half of what it does without. Configuration that turns it off for git's
// own maintenance turns it off here.
func (s *Store) addToCommitGraph(ctx context.Context) error {
	for _, key := range []string{"core.commitgraph", "gc.writecommitgraph"} {
		if wanted, err := s.repo.Config.Bool(key, true); err != nil || !wanted {
			return nil //nolint:nilerr // what git makes of it is git's to say
		}
	}
	return s.writeCommitGraph(ctx, "--split")
}

// RenewCommitGraph has git write its commit-graph anew where there is one, so that it has
// no commits that were removed: git fsck takes those for damage.
func (s *Store) RenewCommitGraph(ctx context.Context) error {
	if !s.hasCommitGraph() {
		return nil
	}
	return s.writeCommitGraph(ctx)
}

func (s *Store) writeCommitGraph(ctx context.Context, args ...string) error {
	_, err := gitexec.New(s.repo, s.env).Apart().Run(ctx, append([]string{"commit-graph", "write", "--reachable", "--no-progress"}, args...)...)
	return err
}

// hasCommitGraph reports whether git has written one.
func (s *Store) hasCommitGraph() bool {
	info := filepath.Join(s.repo.CommonDir, "objects", "info")
	for _, path := range []string{filepath.Join(info, "commit-graph"), filepath.Join(info, "commit-graphs", "commit-graph-chain")} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}
