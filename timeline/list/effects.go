package list

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Effect is what came with a frame: attempts that ended, and files that changed.
type Effect struct {
	Ended  bool  // an attempt ended with the frame
	TookMs int64 // how long that attempt took; the longest of several
	Failed bool  // an attempt failed, or the run did
	// Changed reports whether the captured files differ from those of the frame that this
	// one continues. Lines counts the difference; nil if it is not counted yet.
	Changed bool
	Lines   *sqliteindex.Lines

	trees sqliteindex.TreePair
}

// Effects returns the effects of the frames of a timeline, in their order, from the index alone.
// [CountLines] counts the lines that are not in the index yet.
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

// addEnded adds an attempt to the effect of the frame with which it ended: the frame that has
// its files, or the first one since its end. A fork's journal also has what ended in its parent.
func addEnded(out []Effect, run *RunTimeline, e sqliteindex.EndedRow, since int) {
	if run.Branch != nil && e.FinishedAtMs <= run.Branch.CreatedAtMs {
		return
	}
	at, found := since, since < len(out)
	if e.FrameNo != nil {
		at, found = frameAt(run.Frames, *e.FrameNo)
	} else if e.StartedAtMs == e.FinishedAtMs && at+1 < len(run.Frames) && run.Frames[at+1].CreatedAtMs == e.FinishedAtMs {
		return // a clock that stands still: any of them could be the frame
	}
	if !found || e.State == snapshot.AttemptCancelled {
		return
	}
	effect := &out[at]
	effect.Ended = true
	effect.TookMs = max(effect.TookMs, e.FinishedAtMs-e.StartedAtMs)
	effect.Failed = effect.Failed || e.State == snapshot.AttemptFailed
}

// frameAt returns where the frame of a number is in a list by number.
func frameAt(frames []FrameInfo, number int64) (at int, found bool) {
	if last := len(frames) - 1; last >= 0 && frames[last].FrameNo == number { // a frame goes on from the one before it as a rule
		return last, true
	}
	return slices.BinarySearchFunc(frames, number, func(f FrameInfo, no int64) int { return cmp.Compare(f.FrameNo, no) })
}

// addChanges finds the frames whose files are not those of the frame that they go on from, and
// returns the trees to compare.
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

func setLines(effects []Effect, known map[sqliteindex.TreePair]sqliteindex.Lines) {
	for i := range effects {
		if lines, ok := known[effects[i].trees]; ok && effects[i].Changed {
			effects[i].Lines = &lines
		}
	}
}
