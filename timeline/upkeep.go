package timeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// upkeepEvery is the number of writes after which a round of upkeep starts. It is well below the numbers of packs and
// loose refs at which a round has work to do.
const upkeepEvery = 8

// upkeep keeps the number of packs and loose refs small. In the background, one round at a time, it seals runs that
// ended, merges packs and packs loose refs. When the store is closed, it brings the index up to date. All its errors
// are warnings, since the acknowledged writes are stored already.
type upkeep struct {
	store *Store

	mu      sync.Mutex
	appends int
	busy    bool
	ended   []string // runs that ended since the last round
	rounds  sync.WaitGroup
}

func newUpkeep(s *Store) *upkeep { return &upkeep{store: s} }

// wrote counts a write, and starts a round if a round is due and none is running.
func (u *upkeep) wrote(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.appends++
	if u.busy || u.appends%upkeepEvery != 0 {
		return
	}
	u.busy = true
	// The round continues if the caller's context ends.
	ctx = context.WithoutCancel(ctx)
	u.rounds.Go(func() {
		u.round(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.busy = false
	})
}

// runEnded makes the next round seal the run, unless smithers.seal is off.
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

// round seals the runs that ended, and merges packs and packs refs if there are many.
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

// finish waits for a running round. If the store has written anything, finish runs one more round and updates the
// index.
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
