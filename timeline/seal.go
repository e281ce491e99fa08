package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// SealedRun is the result of sealing or unsealing a run.
type SealedRun struct {
	RunID     string `json:"runId"`
	FrameRefs int    `json:"frameRefs"` // the number of frame refs that Seal dropped or Unseal made
}

// SealResult is the result of sealing or unsealing runs. Runs is never nil.
type SealResult struct {
	Runs        []SealedRun `json:"runs"`
	BytesBefore int64       `json:"bytesBefore"` // the size of the packs that Seal merged; 0 for Unseal
	BytesAfter  int64       `json:"bytesAfter"`  // the size of the packs that Seal wrote; 0 for Unseal
}

// Seal packs runs and drops their frame refs. The frames stay addressable by number, through the index or the
// chain. runs are whole ids. If runs is empty, Seal takes all runs that have ended, have frame refs and have no
// live owner. Seal also adds the entries to git's commit-graph; a failure of git is a warning.
//
// Seal keeps frame refs that do not belong to their run's chain. If a given run has not ended, Seal also keeps the
// ref of its newest frame. Codes: run_owned if a live process owns a given run, and those of FindRun.
func Seal(ctx context.Context, s *Store, runs ...string) (*SealResult, error) {
	return sealer{s}.seal(ctx, runs)
}

// sealer packs runs that have ended, and drops and makes their frame refs.
type sealer struct{ store *Store }

// graph returns git's commit-graph of the store's repository.
func (s sealer) graph() commitGraph { return commitGraph{s.store.repo, s.store.env} }

// seal packs the entries of runs, drops their frame refs, and updates git's commit-graph; [Seal] has the rules. If runs
// is empty, seal takes the runs that unsealed returns. If a given run has a live owner, seal changes nothing.
func (s sealer) seal(ctx context.Context, runs []string) (*SealResult, error) {
	var tips []objstore.ID
	var err error
	if len(runs) == 0 {
		tips, err = s.unsealed(ctx)
	} else {
		tips, err = s.tipsNamed(ctx, runs)
	}
	if err != nil {
		return nil, err
	}
	var commits []objstore.ID
	targets := make([]*RunFrames, len(tips))
	for i, tip := range tips {
		if targets[i], err = framesOf(ctx, s.store.objects, tip); err != nil {
			return nil, Explain(err)
		}
		if row := targets[i].Row; len(runs) > 0 { // unsealed has left out the runs with a live owner
			if err := s.store.RefuseOwned(row); err != nil {
				return nil, err
			}
		}
		commits = append(commits, targets[i].Commits...)
	}
	merged, err := s.store.objects.Seal(ctx, commits, false)
	if err != nil {
		return nil, Explain(err)
	}
	out := &SealResult{Runs: []SealedRun{}, BytesBefore: merged.BytesBefore, BytesAfter: merged.BytesAfter}
	for _, target := range targets {
		dropped, err := s.store.FrameRefs().drop(ctx, target)
		if err != nil {
			return nil, Explain(err)
		}
		out.Runs = append(out.Runs, SealedRun{target.Row.ID, dropped})
	}
	if len(targets) == 0 {
		return out, nil
	}
	if err := s.graph().add(ctx); err != nil {
		s.store.warn(fmt.Errorf("git's commit-graph was not updated: %w", err))
	}
	return out, nil
}

// Unseal makes the missing frame refs of runs, even beyond smithers.frameRefs. runs are whole ids. The refs of
// runs that have ended stay only until upkeep finds more frame refs than smithers.frameRefs. Codes: those of
// FindRun.
func Unseal(ctx context.Context, s *Store, runs ...string) (*SealResult, error) {
	return sealer{s}.unseal(ctx, runs)
}

// unseal makes the missing frame refs of runs, without regard to smithers.frameRefs, and returns the number of new
// refs of each run. If it fails, the refs that it has already made stay. [Unseal] has the other rules.
func (s sealer) unseal(ctx context.Context, runs []string) (*SealResult, error) {
	tips, err := s.tipsNamed(ctx, runs)
	if err != nil {
		return nil, err
	}
	out := &SealResult{Runs: []SealedRun{}}
	for _, tip := range tips {
		target, err := framesOf(ctx, s.store.objects, tip)
		if err != nil {
			return nil, Explain(err)
		}
		made, err := s.store.FrameRefs().make(ctx, target, refs.MaxFrame)
		if err != nil {
			return nil, Explain(err)
		}
		out.Runs = append(out.Runs, SealedRun{target.Row.ID, made})
	}
	return out, nil
}

// tipsNamed returns the tips of runs in the order of runs, each once. runs are whole ids. Codes: those of FindRun.
func (s sealer) tipsNamed(ctx context.Context, runs []string) ([]objstore.ID, error) {
	var ids []string
	var tips []objstore.ID
	for _, run := range runs {
		id, tip, err := s.store.FindRun(ctx, run, ToChange)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids, tips = append(ids, id), append(tips, tip)
		}
	}
	return tips, nil
}

// unsealed returns the tips of the runs that have ended, have frame refs and have no live owner. The run that
// ended first is first. unsealed warns about each unreadable run.
func (s sealer) unsealed(ctx context.Context) ([]objstore.ID, error) {
	counts, err := s.store.refs.FrameCounts(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	index, err := s.store.Index(ctx)
	if err != nil {
		return nil, err
	}
	s.store.WarnOf(index.Problems())
	rows, err := s.sealable(ctx, index, counts)
	if err != nil {
		return nil, Explain(err)
	}
	tips := make([]objstore.ID, len(rows))
	for i, row := range rows {
		tips[i] = row.Tip
	}
	return tips, nil
}

// sealable returns the index rows of the runs that have ended, have frame refs and have no live owner. The run
// that ended first is first. The index must be up to date. counts has the number of frame refs by run component.
func (s sealer) sealable(ctx context.Context, index *sqliteindex.Index, counts map[string]int) ([]sqliteindex.RunRow, error) {
	rows, err := index.Runs(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row sqliteindex.RunRow) bool {
		component, err := refs.EscapeRun(row.RunID)
		return err != nil || counts[component] == 0 || !snapshot.RunStatus(row.Status).Ended() ||
			s.store.Owner(snapshot.Run{ID: row.RunID, Owner: row.Owner}).Live
	})
	slices.SortFunc(rows, func(a, b sqliteindex.RunRow) int {
		return cmp.Or(cmp.Compare(endedAtMs(a), endedAtMs(b)), cmp.Compare(a.RunID, b.RunID))
	})
	return rows, nil
}

// endedAtMs returns the time at which a run ended, in Unix milliseconds. If the row has no such time, endedAtMs
// returns the time of the run's last update.
func endedAtMs(row sqliteindex.RunRow) int64 {
	if row.FinishedAtMs != nil {
		return *row.FinishedAtMs
	}
	return row.UpdatedAtMs
}
