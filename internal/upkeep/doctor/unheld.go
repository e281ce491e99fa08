package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// unheld notes the runs whose own working copies were on commits that git will collect: frames keep the files, and nothing keeps the commits. That
// is so once somebody deletes the branch of a run.
func (e *examination) unheld(ctx context.Context) error {
	if slices.ContainsFunc(e.found, func(f Finding) bool { return !f.Harmless() }) {
		return nil // the index may be what is damaged, and to open it repairs it
	}
	index, err := e.store.Index(ctx)
	if err != nil {
		return err
	}
	own, err := index.OwnCommits(ctx)
	if err != nil || len(own) == 0 {
		return err
	}
	var asked strings.Builder
	for _, c := range own {
		asked.WriteString(c.Commit + "\n")
	}
	// A run holds the commit that it began on. To walk all entries for it would take long.
	out, err := gitexec.New(e.git.repo, e.git.env).RunWith(ctx, strings.NewReader(asked.String()), "rev-list", "--topo-order", "--ignore-missing", "--stdin",
		"--not", "--exclude=refs/smithers/*", "--exclude=refs/smithers-remote/*", "--all", "--reflog")
	if err != nil {
		return err
	}
	told := make(map[string]bool) // the runs
	for id := range strings.FieldsSeq(string(out)) {
		for _, c := range own {
			if c.Commit == id && !told[c.RunID] {
				told[c.RunID] = true
				e.note(Finding{Kind: UnheldCommits, Where: c.RunID, What: fmt.Sprintf(
					"git will collect commits of the run's own worktree, since no branch or tag has them: `git branch %s %s` keeps them", fault.Word(c.RunID), fault.Word(id[:12]))}, nil)
			}
		}
	}
	return nil
}
