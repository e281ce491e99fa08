package timeline

import (
	"context"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// commitGraph is git's commit-graph of a repository.
type commitGraph struct {
	repo gitexec.Repo
	env  []string
}

// add makes git add the reachable commits to its commit-graph. The commit-graph halves the time that each tip
// costs a fetch or a push. If the configuration turns the commit-graph off for git's own maintenance, add does
// nothing.
func (g commitGraph) add(ctx context.Context) error {
	for _, key := range []string{"core.commitgraph", "gc.writecommitgraph"} {
		if wanted, err := g.repo.Config.Bool(key, true); err != nil || !wanted {
			return nil //nolint:nilerr // git itself reports an invalid value
		}
	}
	return g.write(ctx, "--split")
}

// RenewCommitGraph makes git write its commit-graph again, if the repository has a commit-graph. The new
// commit-graph lacks commits that were removed, which git fsck would report as damage.
func (s *Store) RenewCommitGraph(ctx context.Context) error {
	graph := commitGraph{s.repo, s.env}
	if !graph.exists() {
		return nil
	}
	return graph.write(ctx)
}

// write makes git write its commit-graph for all reachable commits. args are further options of git commit-graph
// write.
func (g commitGraph) write(ctx context.Context, args ...string) error {
	_, err := gitexec.New(g.repo, g.env).Apart().Run(ctx, append([]string{"commit-graph", "write", "--reachable", "--no-progress"}, args...)...)
	return err
}

// exists reports whether git has written a commit-graph.
func (g commitGraph) exists() bool {
	info := filepath.Join(g.repo.CommonDir, "objects", "info")
	for _, path := range []string{filepath.Join(info, "commit-graph"), filepath.Join(info, "commit-graphs", "commit-graph-chain")} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}
