package list

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// FrameInfo is a frame in a timeline, and the forks that start from it.
type FrameInfo struct {
	FrameNo     int64      `json:"frameNo"`
	CreatedAtMs int64      `json:"createdAtMs"`
	ContentHash string     `json:"contentHash"`
	Forks       []ForkInfo `json:"forks"`
	Subject     string     `json:"subject"`
	Commit      string     `json:"commit"`
	VCS         *FrameVCS  `json:"vcs"`     // nil where the frame has no revision
	BasedOn     *int64     `json:"basedOn"` // the frame of this run that it goes on from; nil for none
	Dropped     bool       `json:"dropped"` // a later frame has stepped over it

	tree objstore.ID // of the captured files; zero for none
}

// FrameVCS is the revision of the working copy at a frame in a timeline.
type FrameVCS struct {
	VCSType    string  `json:"vcsType"`
	VCSPointer string  `json:"vcsPointer"`
	ChangeID   *string `json:"changeId"` // jj's
}

// ForkInfo is a fork at the frame where it starts. In a timeline that leaves this one
// out because it was dropped, it is at the frame before it that is there.
type ForkInfo struct {
	RunID           string  `json:"runId"`
	BranchLabel     *string `json:"branchLabel"`
	ForkDescription *string `json:"forkDescription"`
	ParentFrameNo   int64   `json:"parentFrameNo"` // where it starts
	Undone          bool    `json:"undone"`
}

// RunTimeline is the frames of one run in the order of their numbers. Branch is
// nil for a run that is no fork. No slice is nil.
type RunTimeline struct {
	RunID  string      `json:"runId"`
	Status string      `json:"status"`
	Branch *Branch     `json:"branch"`
	Frames []FrameInfo `json:"frames"`

	index *sqliteindex.Index // that it was read from, as it was then
}

// Tree is a run's timeline and, when it was asked for, those of its forks, oldest first.
type Tree struct {
	Timeline RunTimeline `json:"timeline"`
	Children []Tree      `json:"children"`
}

// TreeOptions say what a timeline has in it.
type TreeOptions struct {
	Tree bool // the timelines of the forks, and those of their forks
	All  bool // frames that were dropped, and forks that were undone
}

// Timeline lists the frames of a run (an id or a unique prefix).
func Timeline(ctx context.Context, s *timeline.Store, run string, opts TreeOptions) (*Tree, error) {
	index, row, err := indexedRun(ctx, s, run)
	if err != nil {
		return nil, err
	}
	r := timelineReader{index: index, opts: opts, seen: map[string]bool{}}
	t, err := r.read(ctx, row)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return &t, nil
}

// timelineReader reads timelines from the index.
type timelineReader struct {
	index *sqliteindex.Index
	opts  TreeOptions
	// Keeps forged history, in which a run descends from itself, from being followed for ever.
	seen map[string]bool
}

// read reads one run's timeline.
func (r timelineReader) read(ctx context.Context, row sqliteindex.RunRow) (Tree, error) {
	r.seen[row.RunID] = true
	frames, err := r.index.Frames(ctx, row.RunID)
	if err != nil {
		return Tree{}, err
	}
	list := r.index.Children
	if r.opts.All {
		list = r.index.AllChildren
	}
	children, err := list(ctx, row.RunID)
	if err != nil {
		return Tree{}, err
	}
	out := Tree{
		Timeline: RunTimeline{
			RunID: row.RunID, Status: row.Status, Branch: branchOf(row), Frames: r.frames(frames),
			index: r.index,
		},
		Children: []Tree{},
	}
	addForks(out.Timeline.Frames, children)
	if !r.opts.Tree {
		return out, nil
	}
	for _, child := range children {
		if r.seen[child.RunID] {
			continue
		}
		sub, err := r.read(ctx, child)
		if err != nil {
			return Tree{}, err
		}
		out.Children = append(out.Children, sub)
	}
	return out, nil
}

// frames are the frames that the timeline shows.
func (r timelineReader) frames(rows []sqliteindex.FrameRow) []FrameInfo {
	frames := make([]FrameInfo, 0, len(rows))
	for i, f := range rows {
		if f.Dropped && !r.opts.All {
			continue
		}
		info := FrameInfo{
			FrameNo: f.FrameNo, CreatedAtMs: f.CreatedAtMs, ContentHash: f.ContentHash, Forks: []ForkInfo{},
			Subject: f.Subject, Commit: f.Commit.String(), VCS: frameVCS(f.VCS), BasedOn: f.Based, Dropped: f.Dropped,
			tree: f.Tree,
		}
		switch {
		case f.Based == nil && i > 0:
			info.BasedOn = &rows[i-1].FrameNo
		case f.Based != nil && *f.Based == snapshot.NoFrame:
			info.BasedOn = nil
		}
		frames = append(frames, info)
	}
	return frames
}

// addForks puts every fork at the last frame that is not after where it starts, or at
// the first: none gets lost with a frame that is not shown.
func addForks(frames []FrameInfo, children []sqliteindex.RunRow) {
	if len(frames) == 0 {
		return
	}
	for _, child := range children {
		if child.ParentFrameNo == nil {
			continue
		}
		from := *child.ParentFrameNo
		after, _ := slices.BinarySearchFunc(frames, from+1, func(f FrameInfo, no int64) int { return cmp.Compare(f.FrameNo, no) })
		at := &frames[max(after-1, 0)]
		at.Forks = append(at.Forks, ForkInfo{child.RunID, child.BranchLabel, child.ForkDescription, from, child.ForkUndone})
	}
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
