package sqliteindex

import (
	"context"
	"database/sql"
)

// EndedRow is an ended attempt of a run.
type EndedRow struct {
	State                     string
	StartedAtMs, FinishedAtMs int64
	FrameNo                   *int64 // the frame with the files at its end; nil if they were not captured
}

const sqlEnded = `SELECT state, started_at_ms, finished_at_ms, frame_no FROM _index_attempts
	WHERE run_id = ? AND finished_at_ms IS NOT NULL ORDER BY finished_at_ms`

// Ended lists the ended attempts of a run by their end.
func (x *Index) Ended(ctx context.Context, runID string) ([]EndedRow, error) {
	return list(ctx, x, scanEnded, sqlEnded, runID)
}

func scanEnded(rows *sql.Rows) (r EndedRow, err error) {
	err = rows.Scan(&r.State, &r.StartedAtMs, &r.FinishedAtMs, &r.FrameNo)
	return r, err
}
