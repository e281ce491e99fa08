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
			s.store.warn(fmt.Errorf("seal run %q: %w", run, err))
		}
	}
	if err := s.keepFrameRefs(ctx); err != nil {
		s.store.warn(fmt.Errorf("drop frame refs: %w", err))
	}
}

// packEnded merges the packs that mainly hold the run's newest entries into one pack. It takes at most
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

// keepFrameRefs drops frame refs if the clone has more than smithers.frameRefs. It begins with the run that
// ended first, and drops an eighth of smithers.frameRefs more than necessary, so that the next run that ends
// need not drop any. If it dropped frame refs and git has a commit-graph, keepFrameRefs adds the entries to the
// commit-graph.
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
