package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// KeepsPath reports whether the newest frame of a run that a query by path is about has files at
// the path.
func KeepsPath(ctx context.Context, s *Store, query FrameQuery) (bool, error) {
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
		return false, Explain(err)
	}
	for _, row := range rows {
		if query.Run != "" && row.RunID != query.Run {
			continue
		}
		tip, err := snapshot.ReadEntry(s.objects, row.Tip)
		if err != nil {
			return false, Explain(err)
		}
		vcs, err := tip.VCSRevision()
		if err != nil || vcs == nil {
			continue // damage is verify's to tell
		}
		for _, tree := range treesOf(vcs) {
			files, err := filesAt(ctx, s.objects, tree, query.Path)
			if err != nil || files {
				return files, Explain(err)
			}
		}
	}
	return false, nil
}
