package timeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// upkeepEvery is the number of appends between two looks at whether packs or refs
// want tidying. It is well below the numbers at which they do.
const upkeepEvery = 8

// upkeep keeps what appends leave behind small: it merges packs and packs loose
// refs in the background, one round at a time, seals the runs that ended, and at the end
// brings the index up to date. All its trouble is warnings: what was acknowledged is
// stored already.
type upkeep struct {
	store *Store

	mu      sync.Mutex
	appends int
	busy    bool
	ended   []string // runs that ended since the last round
	rounds  sync.WaitGroup
}

func newUpkeep(s *Store) *upkeep { return &upkeep{store: s} }

// wrote counts a write, and starts a round when one is due and none is under way.
func (u *upkeep) wrote(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.appends++
	if u.busy || u.appends%upkeepEvery != 0 {
		return
	}
	u.busy = true
	// What ends the caller's work is no reason to leave this half done.
	ctx = context.WithoutCancel(ctx)
	u.rounds.Go(func() {
		u.round(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.busy = false
	})
}

// runEnded has the next round seal a run.
func (u *upkeep) runEnded(run string) {
	if !u.store.settings.Seal {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.ended, run) {
		u.ended = append(u.ended, run)
	}
}

// round seals the runs that ended, and merges packs and packs refs where their number
// asks for it.
func (u *upkeep) round(ctx context.Context) {
	u.mu.Lock()
	ended := u.ended
	u.ended = nil
	u.mu.Unlock()
	if len(ended) > 0 {
		sealer{u.store}.sealEnded(ctx, ended)
	}
	due, err := u.store.objects.NeedsMerge()
	if err == nil && due {
		_, err = u.store.objects.Merge(ctx)
	}
	if err != nil {
		u.store.warn(fmt.Errorf("merge packs: %w", err))
	}
	if err := u.store.refs.PackIfMany(ctx); err != nil {
		u.store.warn(fmt.Errorf("pack refs: %w", err))
	}
}

// finish waits for a round under way, and closes what was written with one more
// and an update of the index.
func (u *upkeep) finish() {
	u.rounds.Wait()
	if u.appends == 0 {
		return
	}
	u.appends = 0
	u.rounds.Go(func() {
		u.round(context.Background())
		if err := u.store.objects.Settle(context.Background()); err != nil {
			u.store.warn(fmt.Errorf("merge packs: %w", err))
		}
	})
	index, err := u.store.Index(context.Background())
	if err == nil {
		err = index.Degraded()
	}
	if err != nil {
		u.store.warn(fmt.Errorf("update index: %w", err))
	}
	u.rounds.Wait()
}
