package browse

import (
	"cmp"
	"context"
	"encoding/json"
	"sort"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Run is one run at the entry at which it was read.
type Run struct {
	*summary.Summary

	Head    *timeline.Head   // not to be moved
	Shown   []list.FrameInfo // of a run with thousands of frames: the first, the last, and those around a number
	Effects []list.Effect    // of Shown

	Group   bool              // the run is a group, whose variants are runs
	Courses map[string]string // the names of the forks of a session, by their ids

	forks []list.Branch
}

// beside is how many frames on either side of the cursor a view needs at least.
const beside = 50

// Run reads a run, with the frames around the number near, or the newest for -1. run is an id or a unique prefix.
func (r *Reader) Run(ctx context.Context, run string, near int64) (*Run, error) {
	head, err := r.Store.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	return r.runAt(ctx, head, near)
}

// RunSince reads a run as Run does, unless had is the run at the same entry with the same forks, nothing runs, and has the frames around near:
// then the result is nil.
// had may be nil.
func (r *Reader) RunSince(ctx context.Context, run string, near int64, had *Run) (*Run, error) {
	if had == nil {
		return r.Run(ctx, run, near)
	}
	forks, err := list.Branches(ctx, r.Store, had.Row.ID)
	if err != nil {
		return nil, err
	}
	at, err := r.Store.At(ctx, timeline.Address{Run: had.Row.ID, Frame: snapshot.NoFrame})
	moves := had.Row.Status == snapshot.RunRunning && !had.Stale // what runs takes longer, or nobody runs it any more
	if err != nil || at.Entry.ID == had.Entry.ID && !moves && had.Covers(near) && list.SameForks(forks, had.forks) {
		return nil, err
	}
	head, err := r.Store.HeadOf(at)
	if err != nil {
		return nil, err
	}
	return r.runAt(ctx, head, near)
}

// Covers reports whether Shown has the frames beside a frame, or beside the newest for -1.
func (run *Run) Covers(number int64) bool {
	last := len(run.Shown) - 1
	at := last
	if number >= 0 {
		at = run.Place(number)
	}
	return !run.Gap(max(at-beside, 0), at) && !run.Gap(at, min(at+beside, last))
}

// Place returns the position in Shown of the first frame with a number or a greater one, or of the newest; -1 if there are no frames.
func (run *Run) Place(number int64) int {
	i := sort.Search(len(run.Shown), func(i int) bool { return run.Shown[i].FrameNo >= number })
	return min(i, len(run.Shown)-1)
}

// Gap reports whether Shown lacks frames between the positions from and to.
func (run *Run) Gap(from, to int) bool {
	return len(run.Shown) < run.FrameCount && from >= 0 && from < to && run.Shown[to].FrameNo-run.Shown[from].FrameNo > int64(to-from)
}

// runAt reads the run of head at the entry that head knows.
func (r *Reader) runAt(ctx context.Context, head *timeline.Head, near int64) (*Run, error) {
	forks, err := list.Branches(ctx, r.Store, head.Row().ID)
	if err != nil {
		return nil, err
	}
	sum, err := runpage.Read(ctx, r.Store, head, r.Now())
	if err != nil {
		return nil, err
	}
	if near < 0 || near > sum.Row.Frame {
		near = sum.Row.Frame
	}
	var numbers []int64
	around := cmp.Or(r.Around, 1000)
	for no := max(near-around, 0); no <= near+around; no++ {
		numbers = append(numbers, no)
	}
	shown, err := sum.Frames.Among(ctx, numbers)
	if sum.Engine == langgraph.EngineName && sum.FrameCount <= int(around) {
		var all *list.Tree
		if all, err = list.Timeline(ctx, r.Store, sum.Row.ID, list.TreeOptions{All: true}); err == nil { // the other branches of a thread, too
			shown = &all.Timeline
		}
	}
	if err != nil {
		return nil, err
	}
	plan, err := group.PlanOf(head)
	if err != nil {
		return nil, err
	}
	out := &Run{Summary: sum, Head: head, Shown: shown.Frames, Group: plan != nil, forks: forks}
	if out.Effects, err = list.Effects(ctx, shown); err != nil {
		return nil, timeline.Explain(err)
	}
	if sum.Session {
		out.Courses = make(map[string]string, len(sum.Forked))
		for i := range sum.Forked {
			if name := agent.NameAt(sum.Forked[i].Head(r.Store)); name != nil {
				out.Courses[sum.Forked[i].RunID] = name.Text()
			}
		}
	}
	return out, nil
}

// Log returns the log of an attempt: the live one while it runs here, else the stored one. The text has the control characters of the
// program. known is false if the attempt has no log yet.
func (r *Reader) Log(run *Run, a *summary.Attempt) (text string, known bool, err error) {
	if a.State == snapshot.AttemptInProgress {
		if text := claim.LiveLogsOf(r.Store, run.Row.ID).Last(snapshot.AttemptKey(a.NodeID, a.Iteration, a.Number)); text != "" {
			return text, true, nil
		}
	}
	return run.StoredLog(a)
}

// An Event is an event of a run.
type Event struct {
	Seq     int64
	AtMs    int64
	Type    string
	Payload json.RawMessage
}

// Events returns the newest events of a run, at most maxEvents, oldest first.
func (r *Reader) Events(ctx context.Context, run string) ([]Event, error) {
	index, err := r.Store.Details(ctx, run)
	if err != nil {
		return nil, err
	}
	query := sqliteindex.EventQuery{RunID: run}
	total, err := index.CountEvents(ctx, query)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if after := total - maxEvents - 1; after >= 0 { // the numbers have no gaps
		query.After = &after
	}
	rows, err := index.Events(ctx, query)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := make([]Event, len(rows))
	for i, row := range rows {
		out[i] = Event{row.Seq, row.TimestampMs, row.Type, json.RawMessage(row.Payload)}
	}
	return out, nil
}

// maxEvents is the largest number of events that a view reads.
const maxEvents = 1000

// Compare compares runs: the first is the base. by is the value that ranks them, or "".
func (r *Reader) Compare(ctx context.Context, runs []string, by string) (*comparison.Comparison, error) {
	return comparison.Runs(ctx, r.Store, runs, comparison.Options{By: by, Now: r.Now()})
}
