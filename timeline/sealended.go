package timeline

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// sealedEntries is how many of a run's newest entries packEnded packs when the run ends. Older entries have been merged
// with others before.
const sealedEntries = 2000

// sealEnded packs the runs that ended, and drops frame refs of the oldest ended runs if there are too many. All its
// errors are warnings.
func (s sealer) sealEnded(ctx context.Context, runs []string) {
	for _, run := range runs {
		if err := s.packEnded(ctx, run); err != nil {
			s.store.warn(fmt.Errorf("seal run %q: %w", run, err))
		}
	}
	if err := s.keepFrameRefs(ctx); err != nil {
		s.store.warn(fmt.Errorf("drop frame refs: %w", err))
	}
}

// packEnded merges the packs that hold little else than the run into one pack.
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

// keepFrameRefs drops frame refs if there are more than smithers.frameRefs, beginning with the runs that ended first.
// It drops an eighth more than necessary, so that the next run that ends need not drop any.
func (s sealer) keepFrameRefs(ctx context.Context) error {
	const room = 8 // an eighth
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
	dropped := 0
	for _, row := range rows {
		if total <= budget-budget/room {
			break
		}
		run, err := framesOf(ctx, s.store.objects, row.Tip)
		if err != nil {
			s.store.warn(fmt.Errorf("seal run %q: %w", row.RunID, err))
			continue
		}
		count, err := s.store.FrameRefs().drop(ctx, run)
		if err != nil {
			return err
		}
		dropped += count
		total -= int64(count)
	}
	if dropped == 0 || !s.graph().exists() { // making the first commit-graph may read all of the user's history
		return nil
	}
	return s.graph().add(ctx)
}
