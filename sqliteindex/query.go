package sqliteindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

// RunRow is a run in the index. Times are Unix milliseconds. A pointer is nil if the run has no such value.
type RunRow struct {
	RunID, WorkflowName, Status  string
	ParentRunID                  *string // also nil if the run with that id in this repository has another history
	ParentFrameNo                *int64
	BranchLabel, ForkDescription *string
	ForkedAtMs                   *int64
	ForkUndone                   bool   // the fork was undone before it ran
	Epoch                        int64  // number of claims
	Owner                        string // the token of the current claim; "" if no process owns the run
	LatestFrame                  int64  // number of the newest frame; snapshot.NoFrame if the run has no frame
	CreatedAtMs, UpdatedAtMs     int64  // UpdatedAtMs is the time of the newest entry
	FinishedAtMs                 *int64
	Error                        *string // why the run failed
	Tip                          objstore.ID
}

// FrameRow is a frame in the index. Frame 0 of a fork may be a commit of its parent. RunID, FrameNo, Based and Dropped
// are then the fork's, and the other fields describe that commit.
type FrameRow struct {
	RunID       string
	FrameNo     int64
	Commit      objstore.ID
	ContentHash string      // lower-case hex
	CreatedAtMs int64       // Unix milliseconds
	Subject     string      // the subject line of the commit
	VCS         string      // as in snapshot.Header; "" if the frame has no working copy
	VCSRoot     string      // as Root in snapshot.VCS; "" also if vcs.json cannot be read
	JJOperation string      // as Operation in snapshot.VCS
	Tree        objstore.ID // the tree of the captured files; zero if no files were captured
	Based       *int64      // as in snapshot.Header
	IDs         []string    // as in snapshot.Header
	Dropped     bool        // true if the newest frame does not build on this frame
}

// Counts is the size of the index. Branches counts the forks that were not undone.
type Counts struct{ Runs, Branches, Frames int }

const (
	sqlRuns     = sqlRunStart + sqlParentRun + `, ` + sqlParentFrame + sqlRunEnd
	sqlRunStart = `SELECT run_id, workflow_name, status, `
	sqlRunEnd   = `, branch_label,
		fork_description, forked_at_ms, fork_undone, latest_frame, created_at_ms, updated_at_ms, finished_at_ms, git_tip,
		epoch, coalesce(runtime_owner_id, ''), error
		FROM _smithers_runs`
	sqlAllRuns      = sqlRuns + ` ORDER BY created_at_ms DESC, run_id`
	sqlRun          = sqlRuns + ` WHERE run_id = ?`
	sqlLookup       = sqlRuns + ` WHERE git_ref = ?`
	sqlFrameColumns = `SELECT s.run_id, s.frame_no, s.git_commit, s.content_hash, s.created_at_ms, s.subject,
		coalesce(s.vcs, ''), coalesce(s.vcs_root, ''), coalesce(s.operation_id, ''),
		coalesce(s.tree_id, ''), s.based_on, s.dropped,
		coalesce(` + sqlIDsOfFrame + `, '') FROM _smithers_snapshots AS s`
	sqlFrames         = sqlFrameColumns + ` WHERE run_id = ?`
	sqlNewestRunFirst = ` ORDER BY (SELECT created_at_ms FROM _smithers_runs AS r WHERE r.run_id = s.run_id) DESC, run_id, frame_no`
	sqlByChange       = sqlFrameColumns + ` WHERE change_id >= ? AND change_id < ?` + sqlNewestRunFirst
	sqlByCommit       = sqlFrameColumns + ` WHERE commit_id >= ? AND commit_id < ?` + sqlNewestRunFirst
	sqlAllFrames      = sqlFrames + ` ORDER BY frame_no`
	sqlFrame          = sqlFrames + ` AND frame_no = ?`
	sqlFrameCounts    = `SELECT count(*), coalesce(sum(dropped), 0), coalesce(min(frame_no), 0), coalesce(max(frame_no), 0) FROM _smithers_snapshots WHERE run_id = ?`
	sqlFramesAmong    = sqlFrames + ` AND frame_no IN (SELECT value FROM json_each(?)) ORDER BY frame_no`
	sqlCounts         = `SELECT (SELECT count(*) FROM _smithers_runs),
		(SELECT count(*) FROM _smithers_branches),
		(SELECT count(*) FROM _smithers_snapshots)`
)

// Queries use the state of the last Sync, or of a later Sync by another process. If a query finds the database damaged,
// the index is rebuilt from the refs first.

// Runs returns all runs, sorted by creation time, newest first.
func (x *Index) Runs(ctx context.Context) ([]RunRow, error) {
	return list(ctx, x, scanRun, sqlAllRuns)
}

// Run returns the run with a whole run id. ok is false if the index has no such run.
func (x *Index) Run(ctx context.Context, runID string) (row RunRow, ok bool, err error) {
	return first(list(ctx, x, scanRun, sqlRun, runID))
}

// Lookup returns the run with a ref component (see refs.EscapeRun). ok is false if the index has no such run.
func (x *Index) Lookup(ctx context.Context, component string) (row RunRow, ok bool, err error) {
	return first(list(ctx, x, scanRun, sqlLookup, component))
}

// Frames returns the frames of a run, sorted by number, including dropped frames. It returns no rows for an
// unknown run.
func (x *Index) Frames(ctx context.Context, runID string) ([]FrameRow, error) {
	return list(ctx, x, scanFrame, sqlAllFrames, runID)
}

// FramesAmong returns the frames of a run whose numbers are in numbers, and the first and the last frame, sorted by number. It also
// returns how many frames the run has, and how many of them were dropped.
func (x *Index) FramesAmong(ctx context.Context, runID string, numbers []int64) (frames []FrameRow, all, dropped int, err error) {
	counts, _, err := first(list(ctx, x, scanFrameCounts, sqlFrameCounts, runID))
	if err != nil {
		return nil, 0, 0, err
	}
	asked, err := json.Marshal(append([]int64{counts[2], counts[3]}, numbers...))
	if err != nil {
		return nil, 0, 0, err
	}
	frames, err = list(ctx, x, scanFrame, sqlFramesAmong, runID, string(asked))
	return frames, int(counts[0]), int(counts[1]), err
}

// scanFrameCounts converts the current row of sqlFrameCounts.
func scanFrameCounts(rows *sql.Rows) (counts [4]int64, err error) {
	err = rows.Scan(&counts[0], &counts[1], &counts[2], &counts[3])
	return counts, err
}

// Frame returns one frame of a run. ok is false if the run has no such frame.
func (x *Index) Frame(ctx context.Context, runID string, frame int64) (row FrameRow, ok bool, err error) {
	return first(list(ctx, x, scanFrame, sqlFrame, runID, frame))
}

// FramesByChange returns the frames whose working copy was at a jj change that begins with prefix. The frames
// of the newest run come first; the frames of a run are sorted by number. No character of prefix is a
// wildcard, and an empty prefix returns no frames.
func (x *Index) FramesByChange(ctx context.Context, prefix string) ([]FrameRow, error) {
	return x.framesByRevision(ctx, sqlByChange, prefix)
}

// FramesByCommit returns the frames whose working copy was at a commit that begins with prefix, sorted as by
// [Index.FramesByChange]. An empty prefix returns no frames.
func (x *Index) FramesByCommit(ctx context.Context, prefix string) ([]FrameRow, error) {
	return x.framesByRevision(ctx, sqlByCommit, prefix)
}

// framesByRevision returns the frames that query finds for revisions that begin with prefix. query has two
// parameters: the first revision and the end of the range.
func (x *Index) framesByRevision(ctx context.Context, query, prefix string) ([]FrameRow, error) {
	end, ok := prefixEnd(prefix)
	if !ok {
		return nil, nil // an empty prefix does not mean all frames, and ids have no bytes 0xff
	}
	return list(ctx, x, scanFrame, query, prefix, end)
}

// Counts returns the numbers of runs, forks and frames in the index.
func (x *Index) Counts(ctx context.Context) (Counts, error) {
	counts, _, err := first(list(ctx, x, scanCounts, sqlCounts))
	return counts, err
}

// prefixEnd returns the smallest string that is greater than all strings that begin with prefix. ok is false
// if no such string exists: prefix is empty or has only bytes 0xff.
func prefixEnd(prefix string) (end string, ok bool) {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return "", false
	}
	b[len(b)-1]++
	return string(b), true
}

// queryer is a database or a transaction that can run a query.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list runs a query on the index (see [Index.answer]) and returns all rows, each converted by scan.
func list[T any](ctx context.Context, x *Index, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := x.answer(ctx, func(db *database) (err error) {
		all, err = collect(ctx, db, scan, query, args...)
		return err
	})
	return all, err
}

// collect runs a query on q and returns all rows, each converted by scan. If scan fails, collect stops and returns
// scanError of the error.
func collect[T any](ctx context.Context, q queryer, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, scanError(err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// scanError returns the error of scanning a row. If neither SQLite nor the context caused err, the row is
// damaged, and the result wraps errDamaged.
func scanError(err error) error {
	if code(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// first returns the first element of rows. If rows is empty or err is not nil, ok is false. first returns err
// unchanged.
func first[T any](rows []T, err error) (row T, ok bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// scanRun converts the current row of a query that selects the columns of sqlRuns.
func scanRun(rows *sql.Rows) (r RunRow, err error) {
	var id string
	err = rows.Scan(&r.RunID, &r.WorkflowName, &r.Status, &r.ParentRunID, &r.ParentFrameNo, &r.BranchLabel,
		&r.ForkDescription, &r.ForkedAtMs, &r.ForkUndone, &r.LatestFrame, &r.CreatedAtMs, &r.UpdatedAtMs, &r.FinishedAtMs, &id,
		&r.Epoch, &r.Owner, &r.Error)
	if err != nil {
		return r, err
	}
	r.Tip, err = objstore.ParseID(id)
	return r, err
}

// scanFrame converts the current row of a query that selects the columns of sqlFrameColumns.
func scanFrame(rows *sql.Rows) (f FrameRow, err error) {
	var id, tree, ids string
	err = rows.Scan(&f.RunID, &f.FrameNo, &id, &f.ContentHash, &f.CreatedAtMs, &f.Subject, &f.VCS, &f.VCSRoot,
		&f.JJOperation, &tree, &f.Based, &f.Dropped, &ids)
	if err != nil {
		return f, err
	}
	if f.IDs, err = parseIDs(ids); err != nil {
		return f, err
	}
	if tree != "" {
		if f.Tree, err = objstore.ParseID(tree); err != nil {
			return f, err
		}
	}
	f.Commit, err = objstore.ParseID(id)
	return f, err
}

// scanString converts the current row of a query that returns one text.
func scanString(rows *sql.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

// scanCounts converts the current row of sqlCounts.
func scanCounts(rows *sql.Rows) (c Counts, err error) {
	err = rows.Scan(&c.Runs, &c.Branches, &c.Frames)
	return c, err
}
