package list

import (
	"context"

	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Overview is how the runs of a repository stand. See sqliteindex.Overview.
type Overview struct {
	Counts map[string]int
	Runs   []RunInfo
}

// ReadOverview reads how the runs stand, with at most limit runs of each part of the list. It costs hardly more for many
// runs than for few. Runs that cannot be read are left out, with a warning for each.
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
