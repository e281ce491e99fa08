package timeline

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

// RunInfo is a run in a list.
type RunInfo struct {
	RunID         string  `json:"runId"`
	WorkflowName  string  `json:"workflowName"`
	Status        string  `json:"status"`
	LatestFrame   int64   `json:"latestFrame"`
	ParentRunID   *string `json:"parentRunId"`
	ParentFrameNo *int64  `json:"parentFrameNo"`
	BranchLabel   *string `json:"branchLabel"`
	CreatedAtMs   int64   `json:"createdAtMs"`
	UpdatedAtMs   int64   `json:"updatedAtMs"`
	FinishedAtMs  *int64  `json:"finishedAtMs"`
	Tip           string  `json:"tip"`
}

// Branch is the record of a fork, as Smithers calls it.
type Branch struct {
	RunID           string  `json:"runId"`
	ParentRunID     string  `json:"parentRunId"`
	ParentFrameNo   int64   `json:"parentFrameNo"`
	BranchLabel     *string `json:"branchLabel"`
	ForkDescription *string `json:"forkDescription"`
	CreatedAtMs     int64   `json:"createdAtMs"`
}

// FrameInfo is a frame in a timeline, and the forks that start from it.
type FrameInfo struct {
	FrameNo     int64      `json:"frameNo"`
	CreatedAtMs int64      `json:"createdAtMs"`
	ContentHash string     `json:"contentHash"`
	Forks       []ForkInfo `json:"forks"`
	Subject     string     `json:"subject"`
	Commit      string     `json:"commit"`
	VCS         *FrameVCS  `json:"vcs"` // nil where the frame has no revision
}

// FrameVCS is the revision of the working copy at a frame in a timeline.
type FrameVCS struct {
	VCSType    string  `json:"vcsType"`
	VCSPointer string  `json:"vcsPointer"`
	ChangeID   *string `json:"changeId"` // jj's
}

// ForkInfo is a fork at the frame where it starts.
type ForkInfo struct {
	RunID           string  `json:"runId"`
	BranchLabel     *string `json:"branchLabel"`
	ForkDescription *string `json:"forkDescription"`
}

// RunTimeline is the frames of one run in the order of their numbers. Branch is
// nil for a run that is no fork. No slice is nil.
type RunTimeline struct {
	RunID  string      `json:"runId"`
	Status string      `json:"status"`
	Branch *Branch     `json:"branch"`
	Frames []FrameInfo `json:"frames"`
}

// Tree is a run's timeline and, when it was asked for, those of its forks, oldest first.
type Tree struct {
	Timeline RunTimeline `json:"timeline"`
	Children []Tree      `json:"children"`
}

// Runs lists all runs, the newest first. Runs that cannot be read are left out, with
// a warning for each.
func (s *Store) Runs(ctx context.Context) ([]RunInfo, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	s.warnOf(index.Problems())
	rows, err := index.Runs(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	out := make([]RunInfo, len(rows))
	for i, row := range rows {
		out[i] = RunInfo{
			RunID: row.RunID, WorkflowName: row.WorkflowName, Status: row.Status, LatestFrame: row.LatestFrame,
			ParentRunID: row.ParentRunID, ParentFrameNo: row.ParentFrameNo, BranchLabel: row.BranchLabel,
			CreatedAtMs: row.CreatedAtMs, UpdatedAtMs: row.UpdatedAtMs, FinishedAtMs: row.FinishedAtMs,
			Tip: row.Tip.String(),
		}
	}
	return out, nil
}

// warnOf tells which runs a list leaves out.
func (s *Store) warnOf(problems []error) {
	for _, problem := range problems {
		broken, err := brokenRefs(problem)
		for _, b := range broken {
			s.warn(fmt.Errorf("left out: %w", b))
		}
		if err != nil {
			s.warn(fmt.Errorf("left out: %w", err))
		}
	}
}

// Branches lists the forks of a run (an id or a unique prefix), oldest first.
func (s *Store) Branches(ctx context.Context, run string) ([]Branch, error) {
	index, row, err := s.indexedRun(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := index.Children(ctx, row.RunID)
	if err != nil {
		return nil, Explain(err)
	}
	out := make([]Branch, 0, len(rows))
	for _, row := range rows {
		if b := branchOf(row); b != nil {
			out = append(out, *b)
		}
	}
	return out, nil
}

// Branch is the record of the fork that a run is; nil when it is none.
func (s *Store) Branch(ctx context.Context, run string) (*Branch, error) {
	_, row, err := s.indexedRun(ctx, run)
	if err != nil {
		return nil, err
	}
	return branchOf(row), nil
}

// Timeline lists the frames of a run (an id or a unique prefix); with tree also
// those of its forks, and theirs.
func (s *Store) Timeline(ctx context.Context, run string, tree bool) (*Tree, error) {
	index, row, err := s.indexedRun(ctx, run)
	if err != nil {
		return nil, err
	}
	t, err := timelineOf(ctx, index, row, tree, map[string]bool{})
	if err != nil {
		return nil, Explain(err)
	}
	return &t, nil
}

// indexedRun finds a run, by its id or a unique prefix, in the index brought up to
// date. That the index lacks a run whose tip exists means that its tip cannot be read.
func (s *Store) indexedRun(ctx context.Context, run string) (*sqliteindex.Index, sqliteindex.RunRow, error) {
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
		return nil, row, Explain(err)
	}
	if !ok {
		// Why is what reading the run once more says.
		return nil, row, cmp.Or(Explain(index.SyncRun(ctx, id)), runNotFound(id))
	}
	return index, row, nil
}

// timelineOf reads one run's timeline. seen keeps forged history, in which a run
// descends from itself, from being followed for ever.
func timelineOf(ctx context.Context, index *sqliteindex.Index, row sqliteindex.RunRow, tree bool, seen map[string]bool) (Tree, error) {
	seen[row.RunID] = true
	frames, err := index.Frames(ctx, row.RunID)
	if err != nil {
		return Tree{}, err
	}
	children, err := index.Children(ctx, row.RunID)
	if err != nil {
		return Tree{}, err
	}
	forks := make(map[int64][]ForkInfo)
	for _, child := range children {
		if child.ParentFrameNo != nil {
			at := *child.ParentFrameNo
			forks[at] = append(forks[at], ForkInfo{child.RunID, child.BranchLabel, child.ForkDescription})
		}
	}
	out := Tree{
		Timeline: RunTimeline{
			RunID: row.RunID, Status: row.Status, Branch: branchOf(row),
			Frames: make([]FrameInfo, len(frames)),
		},
		Children: []Tree{},
	}
	for i, f := range frames {
		out.Timeline.Frames[i] = FrameInfo{
			FrameNo: f.FrameNo, CreatedAtMs: f.CreatedAtMs, ContentHash: f.ContentHash,
			Forks: append([]ForkInfo{}, forks[f.FrameNo]...), Subject: f.Subject, Commit: f.Commit.String(),
			VCS: frameVCS(f.VCS),
		}
	}
	if !tree {
		return out, nil
	}
	for _, child := range children {
		if seen[child.RunID] {
			continue
		}
		sub, err := timelineOf(ctx, index, child, true, seen)
		if err != nil {
			return Tree{}, err
		}
		out.Children = append(out.Children, sub)
	}
	return out, nil
}

// frameVCS reads snapshot.Header.VCS.
func frameVCS(summary string) *FrameVCS {
	kind, ids, ok := strings.Cut(summary, ":")
	if !ok {
		return nil
	}
	if change, commit, ok := strings.Cut(ids, "@"); ok {
		return &FrameVCS{kind, commit, &change}
	}
	return &FrameVCS{kind, ids, nil}
}

func branchOf(row sqliteindex.RunRow) *Branch {
	if row.ParentRunID == nil || row.ParentFrameNo == nil {
		return nil
	}
	b := &Branch{
		RunID: row.RunID, ParentRunID: *row.ParentRunID, ParentFrameNo: *row.ParentFrameNo,
		BranchLabel: row.BranchLabel, ForkDescription: row.ForkDescription,
		CreatedAtMs: row.CreatedAtMs,
	}
	if row.ForkedAtMs != nil {
		b.CreatedAtMs = *row.ForkedAtMs
	}
	return b
}
