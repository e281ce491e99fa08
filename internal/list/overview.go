package list

import (
	"context"

	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Overview counts the runs of a repository by status and lists the most relevant runs. See sqliteindex.Overview.
type Overview struct {
	Counts map[string]int // the number of runs, by status
	Runs   []RunInfo
}

// ReadOverview returns the overview. Its Runs are the newest runs, the running runs and the waiting runs, at most limit
// of each, and the run that failed last. ReadOverview takes about the same time for few and for many runs. It skips
// unreadable runs, with a warning for each.
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
