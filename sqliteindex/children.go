package sqliteindex

import "context"

// These queries find the children and the parent of a fork. The parent of a fork is the run in the fork's row if the
// forked frame still belongs to that run. If the forked frame now belongs to an extension, the run with the extension
// is the parent. If this repository has another run with the parent's id, without the forked frame, the fork has no
// parent.
const (
	sqlChildren    = sqlForks + ` AND NOT fork_undone` + sqlMovedForks + ` AND NOT fork_undone` + sqlOldestFork
	sqlAllChildren = sqlForks + sqlMovedForks + sqlOldestFork
	sqlOldestFork  = ` ORDER BY forked_at_ms, run_id`

	sqlForks = sqlRuns + ` WHERE parent_run_id = ?1 AND ` + sqlOwnFrame

	// sqlOwnFrame is true if the forked frame still belongs to the run in the fork's row.
	sqlOwnFrame = `EXISTS (SELECT 1 FROM _smithers_snapshots AS s
			WHERE s.run_id = parent_run_id AND s.frame_no = parent_frame_no AND s.git_commit = parent_commit)`

	// sqlParentRun and sqlParentFrame are the parent's id and the number of the forked frame. If this repository has no
	// run with the parent's id, both are as in the fork's row.
	sqlParentRun   = `CASE WHEN ` + sqlAsStored + ` THEN parent_run_id ELSE (SELECT s.run_id ` + sqlMovedTo + `) END`
	sqlParentFrame = `CASE WHEN ` + sqlAsStored + ` THEN parent_frame_no ELSE (SELECT s.frame_no ` + sqlMovedTo + `) END`
	sqlAsStored    = `parent_run_id IS NULL OR ` + sqlOwnFrame + `
			OR NOT EXISTS (SELECT 1 FROM _smithers_runs AS p WHERE p.run_id = _smithers_runs.parent_run_id)`
	// sqlMovedTo finds the forked frame in an extension: the frame there with the same commit.
	sqlMovedTo = `FROM _smithers_runs AS x JOIN _smithers_snapshots AS s ON s.run_id = x.run_id
			WHERE x.extension IS NOT NULL AND x.run_id <> _smithers_runs.run_id AND s.frame_no > 0
				AND s.git_commit = _smithers_runs.parent_commit ORDER BY s.run_id LIMIT 1`

	// sqlMovedForks finds the other children of a fork with an extension: the forks whose row names a run that
	// the extension continues, directly or indirectly, and whose forked frame is now in the extension.
	sqlMovedForks = ` UNION ALL ` + sqlRunStart + `?1, (` + sqlMovedFrame + `)` + sqlRunEnd + `
		WHERE run_id <> ?1 AND EXISTS (` + sqlMovedFrame + `) AND parent_run_id IN (
			WITH RECURSIVE extended (run_id) AS (
				SELECT parent_run_id FROM _smithers_runs WHERE run_id = ?1 AND extension IS NOT NULL
				UNION SELECT x.parent_run_id FROM extended JOIN _smithers_runs AS x USING (run_id) WHERE x.extension IS NOT NULL)
			SELECT run_id FROM extended)`
	sqlMovedFrame = `SELECT s.frame_no FROM _smithers_snapshots AS s
			WHERE s.run_id = ?1 AND s.frame_no > 0 AND s.git_commit = _smithers_runs.parent_commit`
)

// Children returns the forks of a run, except undone forks, sorted by the time of forking, oldest first. It
// returns no rows for an unknown run.
func (x *Index) Children(ctx context.Context, runID string) ([]RunRow, error) {
	return list[RunRow](ctx, x, sqlChildren, runID)
}

// AllChildren returns the same rows as [Index.Children], and the undone forks.
func (x *Index) AllChildren(ctx context.Context, runID string) ([]RunRow, error) {
	return list[RunRow](ctx, x, sqlAllChildren, runID)
}
