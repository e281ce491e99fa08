package timeline

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// sealedEntries is the number of a run's newest entries that packEnded packs when the run ends. Earlier merges
// have packed the older entries.
const sealedEntries = 2000

// sealEnded packs the given runs, which have ended. It then drops frame refs of the runs that ended first, if
// the clone has more than smithers.frameRefs. All errors are warnings.
func (s sealer) sealEnded(ctx context.Context, runs []string) {
	for _, run := range runs {
		if err := s.packEnded(ctx, run); err != nil {
			s.store.warn(fmt.Errorf("run %q was not sealed: %w", run, err))
		}
	}
	if err := s.keepFrameRefs(ctx); err != nil {
		s.store.warn(fmt.Errorf("the frame refs of ended runs were not dropped: %w", err))
	}
}

// packEnded merges the packs that mainly hold a run's newest entries into one pack. It looks only at the newest
// sealedEntries entries.
func (s sealer) packEnded(ctx context.Context, run string) error {
	_, tip, err := s.store.FindRunExactly(ctx, run)
	if err != nil {
		return err
	}
	entry, err := snapshot.ReadEntry(s.store.objects, tip)
	if err != nil {
		return err
	}
	var commits []objstore.ID
	for entry, err := range s.store.Chain(entry) {
		if err != nil {
			return err
		}
		if commits = append(commits, entry.ID); len(commits) == sealedEntries {
			break
		}
	}
	_, err = s.store.objects.Seal(ctx, commits, true)
	return err
}

// keepFrameRefs drops frame refs of ended runs if the clone has more frame refs than smithers.frameRefs. It begins
// with the run that ended first. It stops once an eighth of smithers.frameRefs is free, so that the next run that
// ends need not drop any refs. It leaves out unreadable runs with a warning. It adds the entries of the runs that
// lost frame refs to git's commit-graph.
func (s sealer) keepFrameRefs(ctx context.Context) error {
	const room = 8 // an eighth of the budget stays free
	counts, err := s.store.refs.FrameCounts(ctx)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, count := range counts {
		total += int64(count)
	}
	budget := s.store.settings.FrameRefs
	if total <= budget {
		return nil
	}
	index, err := s.store.Index(ctx)
	if err != nil {
		return err
	}
	rows, err := s.sealable(ctx, index, counts)
	if err != nil {
		return err
	}
	var sealed []objstore.ID
	for _, row := range rows {
		if total <= budget-budget/room {
			break
		}
		run, err := framesOf(ctx, s.store.objects, row.Tip)
		if err != nil {
			s.store.warn(fmt.Errorf("run %q was not sealed: %w", row.RunID, err))
			continue
		}
		count, err := s.store.FrameRefs().drop(ctx, run)
		if err != nil {
			return err
		}
		sealed = append(sealed, row.Tip)
		total -= int64(count)
	}
	s.addToGraph(ctx, sealed)
	return nil
}

// addToGraph adds the entries that the given tips reach to git's commit-graph. If git has no commit-graph yet,
// addToGraph adds the entries of all runs. An error is a warning.
func (s sealer) addToGraph(ctx context.Context, tips []objstore.ID) {
	if len(tips) == 0 {
		return
	}
	if !s.graph().exists() {
		all, err := s.store.refs.Tips(ctx)
		if err != nil {
			return // a broken ref is reported by the commands that need it
		}
		for _, tip := range all {
			tips = append(tips, tip.ID)
		}
	}
	if err := s.graph().addChains(ctx, tips); err != nil {
		s.store.warn(fmt.Errorf("git's commit-graph was not updated: %w", err))
	}
}
