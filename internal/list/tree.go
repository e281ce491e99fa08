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
	VCS         *FrameVCS  `json:"vcs"`           // nil if the frame has no revision
	IDs         []string   `json:"ids,omitempty"` // the ids that its writer gave the frame, sorted
	BasedOn     *int64     `json:"basedOn"`       // the frame of this run on which this frame is based; nil if there is none
	Dropped     bool       `json:"dropped"`       // a later frame stepped over this frame

	tree objstore.ID // the captured files; zero if no files were captured
}

// Tree returns the id of the tree of the captured files, or the zero ID if no files were captured.
func (f FrameInfo) Tree() objstore.ID { return f.tree }

// FrameVCS is the revision of the working copy at a frame in a timeline.
type FrameVCS struct {
	VCSType    string  `json:"vcsType"`    // git or jj
	VCSPointer string  `json:"vcsPointer"` // the commit id
	ChangeID   *string `json:"changeId"`   // jj's change id; nil for a revision of git
}

// ForkInfo is a fork in a timeline. The fork is listed at the frame where it starts or, if that frame was
// dropped and is not shown, at the newest shown frame before.
type ForkInfo struct {
	RunID           string  `json:"runId"`
	BranchLabel     *string `json:"branchLabel"`
	ForkDescription *string `json:"forkDescription"`
	ParentFrameNo   int64   `json:"parentFrameNo"` // the frame where the fork starts
	Undone          bool    `json:"undone"`
}

// RunTimeline is the timeline of one run: its frames, sorted by number. Branch is nil if the run is not a
// fork. Frames is not nil.
type RunTimeline struct {
	RunID  string      `json:"runId"`
	Status string      `json:"status"`
	Branch *Branch     `json:"branch"`
	Frames []FrameInfo `json:"frames"`

	// All is the number of frames of the timeline: that of Frames, or more for a result of TimelineOfFrames.
	All int `json:"-"`

	// LeftOut is the number of older frames that TreeOptions.Limit and TreeOptions.SinceMs leave out.
	LeftOut int `json:"framesLeftOut,omitempty"`

	older []FrameInfo        // these frames; see Older
	index *sqliteindex.Index // the index from which the timeline was read
	tip   objstore.ID        // the newest entry of the run that the index knows
}

// Head returns the head of the run at the entry of which the timeline tells, and not at one that was appended meanwhile.
func (run *RunTimeline) Head(s *timeline.Store) (*timeline.Head, error) {
	return HeadAt(s, run.RunID, run.tip)
}

// Older returns the frames that TreeOptions.Limit and TreeOptions.SinceMs leave out, with their forks.
func (run *RunTimeline) Older() []FrameInfo { return run.older }

// frameBefore returns the frame with the given number if it is before the frame with the index i in Frames, also if it was
// left out. Otherwise it returns nil.
func (run *RunTimeline) frameBefore(i int, number int64) *FrameInfo {
	for _, frames := range [][]FrameInfo{run.Frames[:i], run.older} {
		if at, found := frameAt(frames, number); found {
			return &frames[at]
		}
	}
	return nil
}

// cut leaves out all but the newest limit frames, and the frames before sinceMs. A limit of 0 means no limit.
func (run *RunTimeline) cut(limit int, sinceMs int64) {
	from := 0
	if limit > 0 {
		from = max(0, len(run.Frames)-limit)
	}
	for from < len(run.Frames) && run.Frames[from].CreatedAtMs < sinceMs {
		from++
	}
	run.older, run.Frames, run.LeftOut = run.Frames[:from:from], run.Frames[from:], from
}

// Tree is a run's timeline and, if requested, the timelines of its forks, oldest first. Children is not nil.
type Tree struct {
	Timeline RunTimeline `json:"timeline"`
	Children []Tree      `json:"children"`
}

// TreeOptions selects the contents of a timeline.
type TreeOptions struct {
	Tree bool // include the timelines of forks, and of their forks
	All  bool // include dropped frames and undone forks

	Limit   int   // the largest number of frames of each run, the newest ones; 0 for all
	SinceMs int64 // frames before this time are left out, in milliseconds since 1970; 0 for none
}

// Timeline returns the timeline of run (an id or a unique prefix). If opts.Tree is set, it also returns the
// timelines of the run's forks. If opts.All is set, it includes dropped frames and undone forks. The code is
// run_not_found if the run does not exist.
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

// fullTimeline is the largest number of frames of which TimelineOfFrames returns all.
const fullTimeline = 1000

// TimelineOfFrames returns the timeline of a run with the frames whose numbers are in numbers, those before them, the first and the
// last frame, and without forks. It reads a run with thousands of frames faster than Timeline does. For a run with up to 1,000 frames,
// or with dropped frames, it returns the whole timeline. Effects of the result has the changes of files at the given frames.
func TimelineOfFrames(ctx context.Context, s *timeline.Store, run string, numbers []int64) (*RunTimeline, error) {
	index, row, err := indexedRun(ctx, s, run)
	if err != nil {
		return nil, err
	}
	if row.LatestFrame >= fullTimeline {
		counts, err := index.FrameCounts(ctx, row.RunID)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if counts.Dropped == 0 {
			out := emptyTimeline(index, row)
			out.All = counts.All
			return &out, out.readAmong(ctx, counts.First, counts.Last, numbers)
		}
	}
	tree, err := Timeline(ctx, s, row.RunID, TreeOptions{})
	if err != nil {
		return nil, err
	}
	return &tree.Timeline, nil
}

// Among returns a timeline as TimelineOfFrames does, of other frames than run has. If run has all frames, the result has them, too.
func (run *RunTimeline) Among(ctx context.Context, numbers []int64) (*RunTimeline, error) {
	out := *run
	if len(run.Frames) == run.All {
		return &out, nil
	}
	return &out, out.readAmong(ctx, run.Frames[0].FrameNo, run.Frames[len(run.Frames)-1].FrameNo, numbers)
}

// readAmong sets Frames to the frames first and last, those whose numbers are in numbers, and those before them. No frame was dropped.
func (run *RunTimeline) readAmong(ctx context.Context, first, last int64, numbers []int64) error {
	asked := []int64{first, last}
	for _, no := range numbers {
		if no > first && no <= last {
			asked = append(asked, no-1, no)
		}
	}
	frames, err := run.index.FramesAmong(ctx, run.RunID, asked)
	if err != nil {
		return timeline.Explain(err)
	}
	for i := range frames {
		if frames[i].Based == nil && frames[i].FrameNo > 0 {
			frames[i].Based = new(frames[i].FrameNo - 1) // the row before may not be there
		}
	}
	run.Frames = timelineReader{}.frames(frames)
	return nil
}

// timelineReader reads timelines from the index.
type timelineReader struct {
	index *sqliteindex.Index
	opts  TreeOptions
	// seen has the runs read so far. It ends the search if a run descends from itself, as in a forged
	// history.
	seen map[string]bool
}

// read returns the timeline of the run of row and, if r.opts.Tree is set, the timelines of its forks. Without
// r.opts.All, it leaves out dropped frames and undone forks. It adds the runs to r.seen, and skips a fork that is
// already in r.seen.
func (r timelineReader) read(ctx context.Context, row sqliteindex.RunRow) (Tree, error) {
	r.seen[row.RunID] = true
	list := r.index.Children
	if r.opts.All {
		list = r.index.AllChildren
	}
	children, err := list(ctx, row.RunID)
	if err != nil {
		return Tree{}, err
	}
	out := Tree{Timeline: emptyTimeline(r.index, row), Children: []Tree{}}
	if err := r.readFrames(ctx, &out.Timeline, row, children); err != nil {
		return Tree{}, err
	}
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

// emptyTimeline returns the timeline of a run, as yet without frames.
func emptyTimeline(index *sqliteindex.Index, row sqliteindex.RunRow) RunTimeline {
	return RunTimeline{RunID: row.RunID, Status: row.Status, Branch: branchOf(row), index: index, tip: row.Tip}
}

// readFrames sets the frames of a timeline, with the forks in children. With a limit, it reads of thousands of frames the newest, those on
// which they are based, and those at which forks begin.
func (r timelineReader) readFrames(ctx context.Context, run *RunTimeline, row sqliteindex.RunRow, children []sqliteindex.RunRow) error {
	if r.opts.Limit > 0 && r.opts.SinceMs == 0 && row.LatestFrame >= fullTimeline {
		counts, err := r.index.FrameCounts(ctx, row.RunID)
		if err != nil {
			return err
		}
		if from := counts.Last - int64(r.opts.Limit) + 1; counts.Dropped == 0 && from > counts.First {
			return run.readNewest(ctx, counts, from, children)
		}
	}
	frames, err := r.index.Frames(ctx, row.RunID)
	if err != nil {
		return err
	}
	run.Frames = r.frames(frames)
	run.All = len(run.Frames)
	addForks(run.Frames, children)
	run.cut(r.opts.Limit, r.opts.SinceMs)
	return nil
}

// readNewest sets the frames from a number on, and older to the few that tell of them. No frame was dropped.
func (run *RunTimeline) readNewest(ctx context.Context, counts sqliteindex.FrameCounts, from int64, children []sqliteindex.RunRow) error {
	var numbers []int64
	for no := from; no <= counts.Last; no++ {
		numbers = append(numbers, no)
	}
	for _, child := range children {
		if child.ParentFrameNo != nil {
			numbers = append(numbers, *child.ParentFrameNo)
		}
	}
	if err := run.readAmong(ctx, counts.First, counts.Last, numbers); err != nil {
		return err
	}
	asked := len(numbers)
	for i := range run.Frames {
		if f := &run.Frames[i]; f.FrameNo >= from && f.BasedOn != nil && *f.BasedOn < from-1 {
			numbers = append(numbers, *f.BasedOn)
		}
	}
	if len(numbers) > asked {
		if err := run.readAmong(ctx, counts.First, counts.Last, numbers); err != nil {
			return err
		}
	}
	addForks(run.Frames, children)
	at, _ := frameAt(run.Frames, from)
	run.All, run.older, run.Frames = counts.All, run.Frames[:at:at], run.Frames[at:]
	run.LeftOut = counts.All - len(run.Frames)
	return nil
}

// frames returns the frames that the timeline shows. Without r.opts.All, it leaves out dropped frames. rows are
// all frames of the run, sorted by number. If a row does not name the frame on which its frame is based, BasedOn
// is the number of the row before.
func (r timelineReader) frames(rows []sqliteindex.FrameRow) []FrameInfo {
	frames := make([]FrameInfo, 0, len(rows))
	for i, f := range rows {
		if f.Dropped && !r.opts.All {
			continue
		}
		info := FrameInfo{
			FrameNo: f.FrameNo, CreatedAtMs: f.CreatedAtMs, ContentHash: f.ContentHash, Forks: []ForkInfo{},
			Subject: f.Subject, Commit: f.Commit.String(), VCS: frameVCS(f.VCS), IDs: f.IDs, BasedOn: f.Based, Dropped: f.Dropped,
			tree: f.Tree,
		}
		switch {
		case f.Based == nil && i > 0:
			info.BasedOn = &rows[i-1].FrameNo
		case f.Based != nil && *f.Based == snapshot.NoFrame:
			info.BasedOn = nil // the frame is based on no frame
		}
		frames = append(frames, info)
	}
	return frames
}

// addForks adds every fork in children to the last shown frame at or before its start. If all shown frames are later,
// it adds the fork to the first shown frame. It leaves out a fork whose parent frame is unknown, and does nothing if no
// frame is shown.
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

// frameVCS parses summary, a revision in the format of snapshot.Header.VCS: "kind:commit", or "kind:change@commit"
// for a revision with a change id. It returns nil if summary has no colon.
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
