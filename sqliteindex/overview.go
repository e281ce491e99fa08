package sqliteindex

import "context"

// Overview summarizes the runs.
type Overview struct {
	Counts map[string]int // number of runs by status; a status without runs is missing
	// Runs holds the newest runs, the newest running runs, the newest waiting runs, and the run that failed last.
	// Each run occurs once, and the newest run comes first.
	Runs []RunRow
}

const (
	sqlStatusCounts = `SELECT status, count(*) FROM _smithers_runs GROUP BY status`
	sqlNotable      = sqlRuns + ` WHERE run_id IN (
			SELECT * FROM (SELECT run_id FROM _smithers_runs ORDER BY created_at_ms DESC, run_id LIMIT ?1)
			UNION ALL
			SELECT * FROM (SELECT run_id FROM _smithers_runs WHERE status = 'running' ORDER BY created_at_ms DESC, run_id LIMIT ?1)
			UNION ALL
			SELECT * FROM (SELECT run_id FROM _smithers_runs WHERE status LIKE 'waiting-%' ORDER BY created_at_ms DESC, run_id LIMIT ?1)
			UNION ALL
			SELECT * FROM (SELECT run_id FROM _smithers_runs WHERE status = 'failed'
				ORDER BY coalesce(finished_at_ms, updated_at_ms) DESC, run_id LIMIT 1))
		ORDER BY created_at_ms DESC, run_id`
)

// ReadOverview returns an overview of all runs. Overview.Runs has the newest runs, the newest running runs and the
// newest waiting runs, at most limit of each, and the run that failed last.
func ReadOverview(ctx context.Context, x *Index, limit int) (Overview, error) {
	type count struct {
		Status string
		N      int
	}
	counts, err := list[count](ctx, x, sqlStatusCounts)
	if err != nil {
		return Overview{}, err
	}
	out := Overview{Counts: make(map[string]int, len(counts))}
	for _, c := range counts {
		out.Counts[c.Status] = c.N
	}
	out.Runs, err = list[RunRow](ctx, x, sqlNotable, limit)
	return out, err
}
