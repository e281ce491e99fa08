package list

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// KeepsPath reports whether the newest entry of any run that query selects has captured files at query.Path. query must
// be a query by path. KeepsPath returns true for the path ".". It skips a run without a readable revision.
func KeepsPath(ctx context.Context, s *timeline.Store, query FrameQuery) (bool, error) {
	if err := query.check(); err != nil {
		return false, err
	}
	if query.Path == "." {
		return true, nil
	}
	if query.Run != "" {
		var err error
		if query.Run, err = s.ResolveRun(ctx, query.Run); err != nil {
			return false, err
		}
	}
	index, err := s.Index(ctx)
	if err != nil {
		return false, err
	}
	rows, err := index.Runs(ctx)
	if err != nil {
		return false, timeline.Explain(err)
	}
	for _, row := range rows {
		if query.Run != "" && row.RunID != query.Run {
			continue
		}
		tip, err := snapshot.ReadEntry(s.Objects(), row.Tip)
		if err != nil {
			return false, timeline.Explain(err)
		}
		vcs, err := tip.VCSRevision()
		if err != nil || vcs == nil {
			continue // verify reports a damaged revision
		}
		for _, tree := range files.TreesOf(vcs) {
			at, err := jjbridge.FileAt(s.Objects(), tree, query.Path)
			if err != nil || at.Mode != 0 {
				return err == nil, timeline.Explain(err)
			}
		}
	}
	return false, nil
}
