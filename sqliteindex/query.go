package sqliteindex

import (
	"context"
	"encoding/json"

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
		fork_description, forked_at_ms, fork_undone, epoch, coalesce(runtime_owner_id, ''), latest_frame, created_at_ms,
		updated_at_ms, finished_at_ms, error, git_tip
		FROM _smithers_runs`
	sqlAllRuns      = sqlRuns + ` ORDER BY created_at_ms DESC, run_id`
	sqlRun          = sqlRuns + ` WHERE run_id = ?`
	sqlLookup       = sqlRuns + ` WHERE git_ref = ?`
	sqlFrameColumns = `SELECT s.run_id, s.frame_no, s.git_commit, s.content_hash, s.created_at_ms, s.subject,
		coalesce(s.vcs, ''), coalesce(s.vcs_root, ''), coalesce(s.operation_id, ''),
		s.tree_id, s.based_on, ` + sqlIDsOfFrame + `, s.dropped FROM _smithers_snapshots AS s`
	sqlFrames         = sqlFrameColumns + ` WHERE run_id = ?`
	sqlNewestRunFirst = ` ORDER BY (SELECT created_at_ms FROM _smithers_runs AS r WHERE r.run_id = s.run_id) DESC, run_id, frame_no`
	sqlByChange       = sqlFrameColumns + ` WHERE change_id >= ? AND change_id < ?` + sqlNewestRunFirst
	sqlByCommit       = sqlFrameColumns + ` WHERE commit_id >= ? AND commit_id < ?` + sqlNewestRunFirst
	sqlAllFrames      = sqlFrames + ` ORDER BY frame_no`
	sqlFrame          = sqlFrames + ` AND frame_no = ?`
	sqlFrameCounts    = `SELECT coalesce(last.frame_no - first.frame_no + 1, 0), (SELECT count(*) FROM _smithers_snapshots WHERE run_id = ?1 AND dropped = 1),
		coalesce(first.frame_no, 0), coalesce(last.frame_no, 0)
		FROM (SELECT frame_no FROM _smithers_snapshots WHERE run_id = ?1 ORDER BY frame_no LIMIT 1) AS first,
			(SELECT frame_no FROM _smithers_snapshots WHERE run_id = ?1 ORDER BY frame_no DESC LIMIT 1) AS last`
	sqlFramesAmong = sqlFrames + ` AND frame_no IN (SELECT value FROM json_each(?)) ORDER BY frame_no`
	sqlCounts      = `SELECT (SELECT count(*) FROM _smithers_runs),
		(SELECT count(*) FROM _smithers_branches),
		(SELECT count(*) FROM _smithers_snapshots)`
)

// Queries use the state of the last Sync, or of a later Sync by another process. If a query finds the database damaged,
// the index is rebuilt from the refs first.

// Runs returns all runs, sorted by creation time, newest first.
func (x *Index) Runs(ctx context.Context) ([]RunRow, error) {
	return list[RunRow](ctx, x, sqlAllRuns)
}

// Run returns the run with a whole run id. ok is false if the index has no such run.
func (x *Index) Run(ctx context.Context, runID string) (row RunRow, ok bool, err error) {
	return first(list[RunRow](ctx, x, sqlRun, runID))
}

// Lookup returns the run with a ref component (see refs.EscapeRun). ok is false if the index has no such run.
func (x *Index) Lookup(ctx context.Context, component string) (row RunRow, ok bool, err error) {
	return first(list[RunRow](ctx, x, sqlLookup, component))
}

// Frames returns the frames of a run, sorted by number, including dropped frames. It returns no rows for an
// unknown run.
func (x *Index) Frames(ctx context.Context, runID string) ([]FrameRow, error) {
	return list[FrameRow](ctx, x, sqlAllFrames, runID)
}

// FrameCounts counts the frames of a run, whose numbers have no gaps. It reads few rows, however many frames the run has.
func (x *Index) FrameCounts(ctx context.Context, runID string) (FrameCounts, error) {
	counts, _, err := first(list[FrameCounts](ctx, x, sqlFrameCounts, runID))
	return counts, err
}

// FramesAmong returns the frames of a run whose numbers are in numbers, sorted by number.
func (x *Index) FramesAmong(ctx context.Context, runID string, numbers []int64) ([]FrameRow, error) {
	asked, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	return list[FrameRow](ctx, x, sqlFramesAmong, runID, string(asked))
}

// FrameCounts are the numbers of frames of a run.
type FrameCounts struct {
	All, Dropped int
	First, Last  int64 // numbers of frames
}

// Frame returns one frame of a run. ok is false if the run has no such frame.
func (x *Index) Frame(ctx context.Context, runID string, frame int64) (row FrameRow, ok bool, err error) {
	return first(list[FrameRow](ctx, x, sqlFrame, runID, frame))
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
	return list[FrameRow](ctx, x, query, prefix, end)
}

// Counts returns the numbers of runs, forks and frames in the index.
func (x *Index) Counts(ctx context.Context) (Counts, error) {
	counts, _, err := first(list[Counts](ctx, x, sqlCounts))
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
