package sqliteindex

import "context"

// A fork is a child of the run in its row if the frame that it was made from is still that
// run's. If the frame now belongs to a fork's extension, the fork is a child of the extension. If the
// run of that id is another repository's, the fork has no parent here.
const (
	sqlChildren    = sqlForks + ` AND NOT fork_undone` + sqlMovedForks + ` AND NOT fork_undone` + sqlOldestFork
	sqlAllChildren = sqlForks + sqlMovedForks + sqlOldestFork
	sqlOldestFork  = ` ORDER BY forked_at_ms, run_id`

	sqlForks = sqlRuns + ` WHERE parent_run_id = ?1 AND ` + sqlOwnFrame

	sqlOwnFrame = `EXISTS (SELECT 1 FROM _smithers_snapshots AS s
			WHERE s.run_id = parent_run_id AND s.frame_no = parent_frame_no AND s.git_commit = parent_commit)`

	// The parent of a fork is the run in its row, even if no run of that id is here.
	sqlParentRun   = `CASE WHEN ` + sqlAsStored + ` THEN parent_run_id ELSE (SELECT s.run_id ` + sqlMovedTo + `) END`
	sqlParentFrame = `CASE WHEN ` + sqlAsStored + ` THEN parent_frame_no ELSE (SELECT s.frame_no ` + sqlMovedTo + `) END`
	sqlAsStored    = `parent_run_id IS NULL OR ` + sqlOwnFrame + `
			OR NOT EXISTS (SELECT 1 FROM _smithers_runs AS p WHERE p.run_id = _smithers_runs.parent_run_id)`
	sqlMovedTo = `FROM _smithers_runs AS x JOIN _smithers_snapshots AS s ON s.run_id = x.run_id
			WHERE x.extension IS NOT NULL AND x.run_id <> _smithers_runs.run_id AND s.frame_no > 0
				AND s.git_commit = _smithers_runs.parent_commit ORDER BY s.run_id LIMIT 1`

	// In a fork with an extension: the forks that were made from its frames, in the runs that it extends,
	// directly or not.
	sqlMovedForks = ` UNION ALL ` + sqlRunStart + `?1, (` + sqlMovedFrame + `)` + sqlRunEnd + `
		WHERE run_id <> ?1 AND EXISTS (` + sqlMovedFrame + `) AND parent_run_id IN (
			WITH RECURSIVE extended (run_id) AS (
				SELECT parent_run_id FROM _smithers_runs WHERE run_id = ?1 AND extension IS NOT NULL
				UNION SELECT x.parent_run_id FROM extended JOIN _smithers_runs AS x USING (run_id) WHERE x.extension IS NOT NULL)
			SELECT run_id FROM extended)`
	sqlMovedFrame = `SELECT s.frame_no FROM _smithers_snapshots AS s
			WHERE s.run_id = ?1 AND s.frame_no > 0 AND s.git_commit = _smithers_runs.parent_commit`
)

// Children lists the forks of a run by the time of forking, oldest first, without undone forks.
func (x *Index) Children(ctx context.Context, runID string) ([]RunRow, error) {
	return list(ctx, x, scanRun, sqlChildren, runID)
}

// AllChildren is Children with undone forks.
func (x *Index) AllChildren(ctx context.Context, runID string) ([]RunRow, error) {
	return list(ctx, x, scanRun, sqlAllChildren, runID)
}
