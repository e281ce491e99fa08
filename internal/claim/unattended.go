package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// UnattendedRun is a run that is running or waiting by its row, and that no live process owns.
type UnattendedRun struct {
	Run    string             // the run's id
	Status snapshot.RunStatus // the status in the run's row
}

// FindUnattended returns the runs that are running or waiting by their rows and that no live process owns, sorted
// by id. It reads only the tips of runs.
//
// If runs is empty, FindUnattended looks at all runs that were executed in this repository on this machine. It
// leaves out runs that moved to another repository and, with a warning for each, unreadable runs. It also removes
// the folders of the claims on runs that have ended.
//
// Otherwise FindUnattended looks at the runs with the ids in runs, even if they were executed elsewhere. The ids
// must be whole. An unreadable run is then an error. Code: run_not_found if a run does not exist.
func FindUnattended(ctx context.Context, s *timeline.Store, runs ...string) ([]UnattendedRun, error) {
	var rows []snapshot.Run
	for _, run := range runs {
		_, tip, err := s.FindRunExactly(ctx, run)
		if err != nil {
			return nil, err
		}
		row, err := tipRow(s, tip)
		if err != nil {
			return nil, err
		}
		if unattended(row) && !s.Owner(row).Live {
			rows = append(rows, row)
		}
	}
	if len(runs) == 0 {
		var err error
		if rows, err = unattendedHere(ctx, s); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(rows, func(a, b snapshot.Run) int { return cmp.Compare(a.ID, b.ID) })
	out := make([]UnattendedRun, len(rows))
	for i, row := range rows {
		out[i] = UnattendedRun{row.ID, row.Status}
	}
	return out, nil
}

// unattended reports whether a run is running or waiting, according to its row.
func unattended(row snapshot.Run) bool {
	return row.Status == snapshot.RunRunning || row.Status.Waiting()
}

// unattendedHere returns the rows of the unattended runs that were executed in this repository on this machine. It
// leaves out a run whose owner made its claim in another repository, since the run moved there. It also leaves out
// unreadable runs, with a warning for each. It removes the folders of the claims on runs that have ended.
func unattendedHere(ctx context.Context, s *timeline.Store) ([]snapshot.Run, error) {
	components, err := s.Executed().Components()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var rows []snapshot.Run
	for _, component := range components {
		tip, err := tipOf(ctx, s, component)
		if fault.CodeOf(err) == fault.RunNotFound {
			continue // the run is about to be made, or was pruned
		}
		var row snapshot.Run
		if err == nil {
			row, err = tipRow(s, tip)
		}
		if ctx.Err() != nil {
			return nil, timeline.Explain(ctx.Err())
		}
		if err != nil {
			s.Warn(fmt.Errorf("left out run %s, which cannot be read: %w", component, err))
			continue
		}
		owner := s.Owner(row)
		if row.Status.Ended() && !owner.Live { // the run was cancelled while no process executed it
			s.Executed().Component(component).Remove()
		}
		if unattended(row) && !owner.Live && (owner.Token == "" || owner.Here) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// tipOf returns the tip of the run with the given ref component, which may be a digest of the run's id. Code:
// run_not_found.
func tipOf(ctx context.Context, s *timeline.Store, component string) (objstore.ID, error) {
	run, ok, err := refs.UnescapeRun(component)
	if err != nil {
		return objstore.ID{}, timeline.RunNotFound(component)
	}
	if ok {
		_, tip, err := s.FindRunExactly(ctx, run)
		return tip, err
	}
	// The component is a digest of the id.
	tips, err := s.Refs().Tips(ctx)
	for _, tip := range tips {
		if tip.Component == component {
			return tip.ID, nil
		}
	}
	return objstore.ID{}, cmp.Or(timeline.Explain(err), error(timeline.RunNotFound(component)))
}

// tipRow returns the run's row from the entry with the id tip.
func tipRow(s *timeline.Store, tip objstore.ID) (snapshot.Run, error) {
	entry, err := snapshot.ReadEntry(s.Objects(), tip)
	if err != nil {
		return snapshot.Run{}, timeline.Explain(err)
	}
	row, err := entry.RunRow()
	return row, timeline.Explain(err)
}
