package timeline

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// commitGraph is git's commit-graph of a repository.
type commitGraph struct {
	repo gitexec.Repo
	env  []string
}

// add makes git add all reachable commits to its commit-graph, including those of the user's branches. With a
// commit-graph, a fetch or a push needs only half as much time for each tip. If the configuration turns the
// commit-graph off for git's own maintenance, add does nothing.
func (g commitGraph) add(ctx context.Context) error {
	if !g.wanted() {
		return nil
	}
	return g.write(ctx, nil, "--reachable", "--split")
}

// addChains makes git add the entries that the tips reach to its commit-graph. It adds no other commits, since the
// history of the user's branches may be long. If the configuration turns the commit-graph off for git's own
// maintenance, or tips is empty, addChains does nothing.
func (g commitGraph) addChains(ctx context.Context, tips []objstore.ID) error {
	if len(tips) == 0 || !g.wanted() {
		return nil
	}
	var list strings.Builder
	for _, tip := range tips {
		list.WriteString(tip.String() + "\n")
	}
	return g.write(ctx, strings.NewReader(list.String()), "--stdin-commits", "--split")
}

// wanted reports whether git's own maintenance would write a commit-graph in the repository. If a setting is
// invalid, wanted returns false.
func (g commitGraph) wanted() bool {
	for _, key := range []string{"core.commitgraph", "gc.writecommitgraph"} {
		if wanted, err := g.repo.Config.Bool(key, true); err != nil || !wanted {
			return false // git itself reports an invalid value
		}
	}
	return true
}

// RenewCommitGraph makes git write the commit-graph of the store's repository again, if there is one. Callers use it
// after commits were removed: git fsck would report removed commits in the commit-graph as damage.
func RenewCommitGraph(ctx context.Context, s *Store) error {
	graph := commitGraph{s.repo, s.env}
	if !graph.exists() {
		return nil
	}
	return graph.write(ctx, nil, "--reachable")
}

// write runs git commit-graph write with the options args. stdin is the command's input, or nil.
func (g commitGraph) write(ctx context.Context, stdin io.Reader, args ...string) error {
	args = append([]string{"commit-graph", "write", "--no-progress"}, args...)
	_, err := gitexec.New(g.repo, g.env).Apart().RunWith(ctx, stdin, args...)
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
