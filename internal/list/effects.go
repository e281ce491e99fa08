package list

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Effect describes the changes between a frame and the frame before: attempts that ended, and files that
// changed.
type Effect struct {
	Ended  bool  // whether an attempt ended with the frame
	TookMs int64 // the duration of the longest of these attempts, in milliseconds
	Failed bool  // whether one of these attempts failed, or the run failed at the frame
	// Changed reports whether the captured files differ from the files of the frame on which this frame is based. Lines
	// is the number of changed lines, or nil if it is unknown.
	Changed bool
	Lines   *sqliteindex.Lines

	trees sqliteindex.TreePair // the trees that differ; zero unless Changed is set
}

// Effects returns the effect of each frame of run, in the order of the frames: whether attempts ended, how long
// they took, whether they or the run failed, and whether files changed. It reads only the index. Lines is nil if
// the index has no count yet; see [CountLines].
func Effects(ctx context.Context, run *RunTimeline) ([]Effect, error) {
	if run.LeftOut > 0 { // the frames that were left out have effects of their own
		whole := *run
		whole.Frames, whole.older, whole.LeftOut = slices.Concat(run.older, run.Frames), nil, 0
		out, err := Effects(ctx, &whole)
		return out[min(len(run.older), len(out)):], err
	}
	out := make([]Effect, len(run.Frames))
	if len(out) == 0 {
		return out, nil
	}
	ended, err := run.index.Ended(ctx, run.RunID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	since := 0 // the index of the first frame at or after the end of the attempt; ended is sorted by these ends
	for _, e := range ended {
		for since < len(out) && run.Frames[since].CreatedAtMs < e.FinishedAtMs {
			since++
		}
		addEnded(out, run, e, since)
	}
	if run.Status == string(snapshot.RunFailed) {
		out[len(out)-1].Failed = true
	}
	if pairs := addChanges(out, run.Frames); len(pairs) > 0 {
		known, err := run.index.Lines(ctx, pairs)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		setLines(out, known)
	}
	return out, nil
}

// addEnded adds the ended attempt e to the effect of the frame that e.FrameNo names. If e has no frame number, addEnded
// takes the first frame at or after the attempt's end. since is the index of this first frame in run.Frames. addEnded
// leaves out cancelled attempts, attempts that a fork inherited from its parent, and attempts whose frame is unknown.
func addEnded(out []Effect, run *RunTimeline, e sqliteindex.EndedRow, since int) {
	if run.Branch != nil && e.FinishedAtMs <= run.Branch.CreatedAtMs {
		return
	}
	at, found := since, since < len(out)
	if e.FrameNo != nil {
		at, found = frameAt(run.Frames, *e.FrameNo)
	} else if e.StartedAtMs == e.FinishedAtMs && at+1 < len(run.Frames) && run.Frames[at+1].CreatedAtMs == e.FinishedAtMs {
		return // several frames have the time of the attempt, so its frame is unknown
	}
	if !found || e.State == snapshot.AttemptCancelled {
		return
	}
	effect := &out[at]
	effect.Ended = true
	effect.TookMs = max(effect.TookMs, e.FinishedAtMs-e.StartedAtMs)
	effect.Failed = effect.Failed || e.State == snapshot.AttemptFailed
}

// frameAt returns the index of the frame with the given number in frames. frames is sorted by number. found is false if
// frames does not have the frame.
func frameAt(frames []FrameInfo, number int64) (at int, found bool) {
	if last := len(frames) - 1; last >= 0 && frames[last].FrameNo == number { // fast path: most frames are based on the last frame of frames
		return last, true
	}
	return slices.BinarySearchFunc(frames, number, func(f FrameInfo, no int64) int { return cmp.Compare(f.FrameNo, no) })
}

// addChanges sets Changed in the effect of each frame whose files differ from the files of the frame on which it is
// based. It leaves out a frame if the files of one of the two frames were not captured. It returns the pairs of trees
// to compare, which may have duplicates.
func addChanges(out []Effect, frames []FrameInfo) []sqliteindex.TreePair {
	var pairs []sqliteindex.TreePair
	for i, f := range frames {
		if f.BasedOn == nil || f.tree.IsZero() {
			continue
		}
		at, found := frameAt(frames[:i], *f.BasedOn)
		if !found {
			continue
		}
		before := frames[at].tree
		if before.IsZero() || before == f.tree {
			continue
		}
		out[i].Changed, out[i].trees = true, sqliteindex.TreePair{From: before, To: f.tree}
		pairs = append(pairs, out[i].trees)
	}
	return pairs
}

// setLines sets Lines of the effects whose trees are in known.
func setLines(effects []Effect, known map[sqliteindex.TreePair]sqliteindex.Lines) {
	for i := range effects {
		if lines, ok := known[effects[i].trees]; ok && effects[i].Changed {
			effects[i].Lines = &lines
		}
	}
}
