package list

import (
	"context"

	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Overview counts the runs of a repository by status and lists the most relevant ones. See sqliteindex.Overview.
type Overview struct {
	Counts map[string]int
	Runs   []RunInfo
}

// ReadOverview reads the overview, with at most limit runs in each part of the list. Its cost hardly grows with the
// number of runs. Runs that cannot be read are left out, with a warning for each.
func ReadOverview(ctx context.Context, s *timeline.Store, limit int) (*Overview, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	s.WarnOf(index.Problems())
	read, err := sqliteindex.ReadOverview(ctx, index, limit)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return &Overview{read.Counts, runInfos(read.Runs)}, nil
}
