package list

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Effect is what happened between a frame and the one before it: attempts ended, and files changed.
type Effect struct {
	Ended  bool  // an attempt ended with the frame
	TookMs int64 // how long that attempt took; the longest of several
	Failed bool  // an attempt failed, or the run did
	// Changed reports whether the captured files differ from those of the frame on which this one is based. Lines
	// counts the changed lines, or is nil if they have not been counted.
	Changed bool
	Lines   *sqliteindex.Lines

	trees sqliteindex.TreePair
}

// Effects returns the effects of the frames of a timeline, in the order of the frames. It reads only the index.
// [CountLines] counts lines that the index does not have yet.
func Effects(ctx context.Context, run *RunTimeline) ([]Effect, error) {
	out := make([]Effect, len(run.Frames))
	if len(out) == 0 {
		return out, nil
	}
	ended, err := run.index.Ended(ctx, run.RunID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	since := 0
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

// addEnded adds an ended attempt to the effect of its frame: the frame with the attempt's files or, if the attempt
// has none, the first frame after its end. Attempts that a fork inherited from its parent are left out.
func addEnded(out []Effect, run *RunTimeline, e sqliteindex.EndedRow, since int) {
	if run.Branch != nil && e.FinishedAtMs <= run.Branch.CreatedAtMs {
		return
	}
	at, found := since, since < len(out)
	if e.FrameNo != nil {
		at, found = frameAt(run.Frames, *e.FrameNo)
	} else if e.StartedAtMs == e.FinishedAtMs && at+1 < len(run.Frames) && run.Frames[at+1].CreatedAtMs == e.FinishedAtMs {
		return // equal times on several frames: the attempt's frame is unknown
	}
	if !found || e.State == snapshot.AttemptCancelled {
		return
	}
	effect := &out[at]
	effect.Ended = true
	effect.TookMs = max(effect.TookMs, e.FinishedAtMs-e.StartedAtMs)
	effect.Failed = effect.Failed || e.State == snapshot.AttemptFailed
}

// frameAt returns the index of a frame in a list that is sorted by number.
func frameAt(frames []FrameInfo, number int64) (at int, found bool) {
	if last := len(frames) - 1; last >= 0 && frames[last].FrameNo == number { // usual case: the frame before
		return last, true
	}
	return slices.BinarySearchFunc(frames, number, func(f FrameInfo, no int64) int { return cmp.Compare(f.FrameNo, no) })
}

// addChanges marks the frames whose files differ from those of the frame on which they are based, and returns the
// trees to compare.
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

// setLines sets the known counts of lines.
func setLines(effects []Effect, known map[sqliteindex.TreePair]sqliteindex.Lines) {
	for i := range effects {
		if lines, ok := known[effects[i].trees]; ok && effects[i].Changed {
			effects[i].Lines = &lines
		}
	}
}
