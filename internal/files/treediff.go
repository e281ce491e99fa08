package files

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// EachChanged calls visit for each working copy whose files differ between two entries, sorted by its task: "" is the working copy that tasks
// share. It ends with the first error. captured is false if one of the entries has no captured files.
func EachChanged(s *timeline.Store, from, to *snapshot.Entry, visit func(task string, from, to objstore.ID) error) (captured bool, err error) {
	before, err := from.VCSRevision()
	if err != nil {
		return false, timeline.Explain(err)
	}
	after, err := to.VCSRevision()
	if err != nil || before == nil || after == nil {
		return false, timeline.Explain(err)
	}
	was, is := TreesOf(before), TreesOf(after)
	for _, task := range slices.Sorted(maps.Keys(is)) {
		tree, had := was[task]
		if !had && task != "" {
			tree = WorktreeStart(s.Objects(), before, WorktreeOf(after, task))
		}
		if tree.IsZero() || tree == is[task] {
			continue
		}
		if err := visit(task, tree, is[task]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// DiffTrees returns how the files of two trees differ. A renamed file has both paths. The codes are those of CheckChanges.
func DiffTrees(ctx context.Context, s *timeline.Store, from, to objstore.ID, limits DiffLimits) (changes []FileDiff, err error) {
	if err := CheckChanges(ctx, s, from, to); err != nil {
		return nil, err
	}
	git := gitexec.New(s.Repo(), append(slices.Clone(s.Env()), "GIT_NO_LAZY_FETCH=1"))
	args := append(DiffArguments(LargeFile), "-M", "-l200", from.String(), to.String())
	_, err = git.Read(ctx, nil, args, func(out io.Reader) error {
		changes, err = ReadDiff(out, limits)
		return err
	})
	return changes, timeline.Explain(err)
}
