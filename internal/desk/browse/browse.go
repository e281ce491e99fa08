// Package browse reads what a view of runs shows: lists, one run, one frame. Each result is a value of its own, which a view may keep while
// the run goes on. Nothing here is known that a command with --json could not say.
package browse

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Reader reads from one store. One call at a time: a Reader has no lock.
type Reader struct {
	Store *timeline.Store
	Now   func() time.Time
	// CountFor is how long a list counts changed lines that the index does not have. The next call counts the others.
	CountFor time.Duration
	Around   int64 // how many frames before and after a number Run returns of a run with thousands of frames; 0 is 1,000
}

// A RunRow is a run in a list, with what a list shows of it.
type RunRow struct {
	list.RunInfo
	list.Facts

	Name  *agent.Name // nil if the run is not a session
	Stale bool        // the status is running, and no live process owns the run
	Depth int         // 0 for a run that is shown on its own, 1 for its forks, and so on
	Last  bool        // the run is the last fork of its parent
}

// Active reports whether the run runs or waits.
func (r *RunRow) Active() bool {
	status := snapshot.RunStatus(r.Status)
	return status == snapshot.RunRunning || status.Waiting()
}

// Runs returns all runs but the variants of sweeps: those that run or wait come first, then the newest. Forks stand under their parents, oldest first, and a
// parent stands where the most urgent of its forks would stand.
func (r *Reader) Runs(ctx context.Context) ([]RunRow, error) {
	infos, err := list.Runs(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	if infos, _, err = group.Fold(r.Store, infos); err != nil {
		return nil, err
	}
	counting, stop := context.WithTimeout(ctx, r.CountFor)
	defer stop()
	facts, err := list.ReadFacts(ctx, counting, r.Store, infos, list.Wanted{Waiting: true, Times: true, Code: true, NowMs: r.Now().UnixMilli()})
	if err != nil {
		return nil, err
	}
	rows := make([]RunRow, len(infos))
	for i, info := range infos {
		rows[i] = RunRow{RunInfo: info, Facts: facts[i], Stale: summary.StaleInfo(r.Store, info)}
		rows[i].Name = agent.NameOf(r.Store, info)
	}
	return nest(rows), nil
}

// A family is a run with its forks.
type family struct {
	row    RunRow
	forks  []*family
	active bool  // one of them runs or waits
	newest int64 // when one of them was last updated
}

// nest puts forks under their parents.
func nest(rows []RunRow) []RunRow {
	all := make(map[string]*family, len(rows))
	for _, row := range rows {
		all[row.RunID] = &family{row: row, active: row.Active(), newest: row.UpdatedAtMs}
	}
	var roots []*family
	for _, row := range rows {
		f := all[row.RunID]
		if parent := all[parentOf(row)]; parent != nil && !f.holds(parent) {
			parent.forks = append(parent.forks, f)
		} else {
			roots = append(roots, f)
		}
	}
	for _, f := range roots {
		f.sum()
	}
	slices.SortStableFunc(roots, func(a, b *family) int {
		if a.active != b.active {
			if a.active {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.newest, a.newest)
	})
	out := make([]RunRow, 0, len(rows))
	for _, f := range roots {
		out = f.list(out, 0, true)
	}
	return out
}

// parentOf returns the id of the parent of a run, or "".
func parentOf(row RunRow) string {
	if row.ParentRunID == nil {
		return ""
	}
	return *row.ParentRunID
}

// holds reports whether other is the family itself or below it. A forged history may have a run that descends from itself.
func (f *family) holds(other *family) bool {
	return f == other || slices.ContainsFunc(f.forks, func(fork *family) bool { return fork.holds(other) })
}

// sum sets what the family takes from its forks, and sorts them.
func (f *family) sum() {
	for _, fork := range f.forks {
		fork.sum()
		f.active = f.active || fork.active
		f.newest = max(f.newest, fork.newest)
	}
	slices.SortStableFunc(f.forks, func(a, b *family) int { return cmp.Compare(a.row.CreatedAtMs, b.row.CreatedAtMs) })
}

// list appends the family to out.
func (f *family) list(out []RunRow, depth int, last bool) []RunRow {
	f.row.Depth, f.row.Last = depth, last
	out = append(out, f.row)
	for i, fork := range f.forks {
		out = fork.list(out, depth+1, i == len(f.forks)-1)
	}
	return out
}

// Reason returns why a run failed, or "" if it has not failed.
func (r *Reader) Reason(row RunRow) (string, error) {
	head, err := list.HeadOf(r.Store, row.RunInfo)
	if err != nil {
		return "", err
	}
	failed, err := summary.FailedNodes(head.Entry())
	if err != nil || len(failed) == 0 {
		return head.Row().Error, err
	}
	first := failed[0]
	name := first.NodeID
	if first.Iteration > 0 {
		name = snapshot.Key(first.NodeID, first.Iteration)
	}
	return name + " " + runpage.WithoutCode(first.Attempt.Error), nil
}
