package timeline

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// sealedEntries is how many of a run's newest entries are looked for when it is sealed
// as it ends. What is older has been merged with its like before.
const sealedEntries = 2000

// sealEnded packs the runs that ended, and drops frame refs of the oldest where there are
// too many. Its trouble is warnings.
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

// packEnded makes one pack of those that hold little else than a run.
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

// keepFrameRefs drops the frame refs of the runs that ended first, until there is some
// room again below smithers.frameRefs: so the next run that ends needs to drop none.
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
	if dropped == 0 || !s.graph().exists() { // the first one may have all of the user's history to read
		return nil
	}
	return s.graph().add(ctx)
}
