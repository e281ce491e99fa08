package sqliteindex

import "context"

// EndedRow is an ended attempt of a run. Times are Unix milliseconds.
type EndedRow struct {
	State                     string
	StartedAtMs, FinishedAtMs int64
	FrameNo                   *int64 // the frame with the files at the attempt's end; nil if no frame has them
}

const sqlEnded = `SELECT state, started_at_ms, finished_at_ms, frame_no FROM _index_attempts
	WHERE run_id = ? AND finished_at_ms IS NOT NULL ORDER BY finished_at_ms`

// Ended returns the ended attempts of a run, sorted by the time of their end. It returns no rows for an
// unknown run.
func (x *Index) Ended(ctx context.Context, runID string) ([]EndedRow, error) {
	return list[EndedRow](ctx, x, sqlEnded, runID)
}
