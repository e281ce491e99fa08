// Package list answers questions about many runs and frames: which runs and frames exist, and what each frame
// changed.
package list

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// RunInfo is a run in a list. Times are in milliseconds since 1970.
type RunInfo struct {
	RunID         string  `json:"runId"`
	WorkflowName  string  `json:"workflowName"`
	Status        string  `json:"status"`
	LatestFrame   int64   `json:"latestFrame"`
	ParentRunID   *string `json:"parentRunId"` // nil if the run is not a fork
	ParentFrameNo *int64  `json:"parentFrameNo"`
	BranchLabel   *string `json:"branchLabel"` // nil if the fork has no label
	CreatedAtMs   int64   `json:"createdAtMs"`
	UpdatedAtMs   int64   `json:"updatedAtMs"`
	FinishedAtMs  *int64  `json:"finishedAtMs"` // nil if the run has not ended
	Error         *string `json:"error"`        // nil if the run has not failed
	Tip           string  `json:"tip"`          // the commit id of the newest entry

	epoch  int64  // the number of claims, see snapshot.Run
	owner  string // the token of the claim, see snapshot.Run
	forked *int64 // when the run was forked; nil if it is not a fork
}

// HeadOf returns the head of a run of a list at the newest entry that the list knows, and not at one that was appended meanwhile.
func HeadOf(s *timeline.Store, run RunInfo) (*timeline.Head, error) {
	tip, err := objstore.ParseID(run.Tip)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return HeadAt(s, run.RunID, tip)
}

// HeadAt returns the head of a run at an entry that was read, and not at one that was appended meanwhile. run is the whole id of the run.
func HeadAt(s *timeline.Store, run string, tip objstore.ID) (*timeline.Head, error) {
	entry, err := snapshot.ReadEntry(s.Objects(), tip)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return s.HeadOf(&timeline.LoadedEntry{Address: timeline.Address{Run: run}, Entry: entry})
}

// Branch is the record of a fork; Smithers calls such a record a branch. CreatedAtMs is the time of the fork,
// in milliseconds since 1970.
type Branch struct {
	RunID           string  `json:"runId"`
	ParentRunID     string  `json:"parentRunId"`
	ParentFrameNo   int64   `json:"parentFrameNo"`
	BranchLabel     *string `json:"branchLabel"`
	ForkDescription *string `json:"forkDescription"`
	CreatedAtMs     int64   `json:"createdAtMs"`

	tip objstore.ID // the newest entry of the fork that the index knows
}

// Head returns the head of the fork at the newest entry that the list of forks knows, and not at one that was appended meanwhile.
func (b *Branch) Head(s *timeline.Store) (*timeline.Head, error) { return HeadAt(s, b.RunID, b.tip) }

// SameForks reports whether two lists have the same forks at the same entries.
func SameForks(a, b []Branch) bool {
	return slices.EqualFunc(a, b, func(x, y Branch) bool { return x.RunID == y.RunID && x.tip == y.tip })
}

// Runs returns all runs, newest first. It skips unreadable runs, with a warning for each.
func Runs(ctx context.Context, s *timeline.Store) ([]RunInfo, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	s.WarnOf(index.Problems())
	rows, err := index.Runs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return runInfos(rows), nil
}

// runInfos returns the index rows as RunInfos, in the same order.
func runInfos(rows []sqliteindex.RunRow) []RunInfo {
	out := make([]RunInfo, len(rows))
	for i, row := range rows {
		out[i] = RunInfo{
			RunID: row.RunID, WorkflowName: row.WorkflowName, Status: row.Status, LatestFrame: row.LatestFrame,
			ParentRunID: row.ParentRunID, ParentFrameNo: row.ParentFrameNo, BranchLabel: row.BranchLabel,
			CreatedAtMs: row.CreatedAtMs, UpdatedAtMs: row.UpdatedAtMs, FinishedAtMs: row.FinishedAtMs, Error: row.Error,
			Tip: row.Tip.String(), epoch: row.Epoch, owner: row.Owner, forked: row.ForkedAtMs,
		}
	}
	return out
}

// Branches returns the forks of run (an id or a unique prefix), oldest first. It leaves out undone forks. The
// result is never nil.
func Branches(ctx context.Context, s *timeline.Store, run string) ([]Branch, error) {
	index, row, err := indexedRun(ctx, s, run)
	if err != nil {
		return nil, err
	}
	rows, err := index.Children(ctx, row.RunID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := make([]Branch, 0, len(rows))
	for _, row := range rows {
		if b := branchOf(row); b != nil {
			out = append(out, *b)
		}
	}
	return out, nil
}

// BranchOf returns the record of the fork run (an id or a unique prefix). It returns nil if the run is not a
// fork, or if the index does not know the frame of the parent.
func BranchOf(ctx context.Context, s *timeline.Store, run string) (*Branch, error) {
	_, row, err := indexedRun(ctx, s, run)
	if err != nil {
		return nil, err
	}
	return branchOf(row), nil
}

// indexedRun returns the updated index and its row of run (an id or a unique prefix). If the run exists and
// the index lacks it, the run is unreadable: indexedRun then returns the reason as the error.
func indexedRun(ctx context.Context, s *timeline.Store, run string) (*sqliteindex.Index, sqliteindex.RunRow, error) {
	id, err := s.ResolveRun(ctx, run)
	if err != nil {
		return nil, sqliteindex.RunRow{}, err
	}
	index, err := s.Index(ctx)
	if err != nil {
		return nil, sqliteindex.RunRow{}, err
	}
	row, ok, err := index.Run(ctx, id)
	if err != nil {
		return nil, row, timeline.Explain(err)
	}
	if !ok {
		// SyncRun reads the run again and returns the reason.
		return nil, row, cmp.Or(timeline.Explain(index.SyncRun(ctx, id)), error(timeline.RunNotFound(id)))
	}
	return index, row, nil
}

// branchOf returns the record of the fork in row, or nil if the row has no parent frame. If the index has no
// time of the fork, CreatedAtMs is the time at which the run was created.
func branchOf(row sqliteindex.RunRow) *Branch {
	if row.ParentRunID == nil || row.ParentFrameNo == nil {
		return nil
	}
	b := &Branch{
		RunID: row.RunID, ParentRunID: *row.ParentRunID, ParentFrameNo: *row.ParentFrameNo,
		BranchLabel: row.BranchLabel, ForkDescription: row.ForkDescription,
		CreatedAtMs: row.CreatedAtMs, tip: row.Tip,
	}
	if row.ForkedAtMs != nil {
		b.CreatedAtMs = *row.ForkedAtMs
	}
	return b
}
