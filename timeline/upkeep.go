package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// upkeepEvery is the number of writes after which a round of upkeep starts at the next rest. The number is well below the numbers
	// of packs and loose refs at which a round merges packs and packs refs.
	upkeepEvery = 8
	// upkeepRest is the time without a write that is a rest.
	upkeepRest = 20 * time.Millisecond
	// upkeepBurst is the number of writes after which a round starts without a rest. To merge the packs of a burst at once
	// takes less time than to merge some packs again and again, but git gc --auto repacks everything above 50 packs (decision 94).
	upkeepBurst = 40
)

// manyEntries is the number of entries from which a store brings the index up to date when it is closed. Below this
// number, it leaves the index to the next reader, which indexes 66 frames a millisecond. To open and update the index
// takes longer than to make a frame.
const manyEntries = 256

// upkeep keeps the number of packs and loose refs small. A round in the background seals runs that ended, merges
// packs and packs loose refs. After many entries, upkeep also brings the index up to date when the store is closed.
// All errors are warnings, since the acknowledged writes are stored already.
type upkeep struct {
	store *Store
	every int // the number of writes after which a round starts at the next rest

	mu      sync.Mutex
	writes  int         // the number of writes, each of one pack
	waiting int         // the number of writes since the last round started
	rest    *time.Timer // starts a round at the next rest; nil until a round is due
	entries int         // the number of entries in them, at least one each
	busy    bool        // a round is running
	ended   []string    // runs that ended since the last round
	rounds  sync.WaitGroup
}

// newUpkeep returns the upkeep of a store. every is the number of writes after which a round starts at the next rest; 0 means
// upkeepEvery.
func newUpkeep(s *Store, every int) *upkeep {
	return &upkeep{store: s, every: cmp.Or(every, upkeepEvery)}
}

// wrote counts a write of so many entries. After u.every writes, a round starts in the background at the next rest, and after upkeepBurst
// writes at once, unless a round is running.
func (u *upkeep) wrote(ctx context.Context, entries int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writes++
	u.waiting++
	u.entries += entries
	switch {
	case u.waiting < u.every:
	case u.waiting >= upkeepBurst && !u.busy:
		u.start(ctx)
	case u.rest == nil:
		u.rest = time.AfterFunc(upkeepRest, func() { u.rested(ctx) })
	default:
		u.rest.Reset(upkeepRest)
	}
}

// rested starts a round if one is due. If a round is running, rested waits for another rest.
func (u *upkeep) rested(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.waiting < u.every:
	case u.busy:
		u.rest.Reset(upkeepRest)
	default:
		u.start(ctx)
	}
}

// start starts a round in the background. The caller holds u.mu.
func (u *upkeep) start(ctx context.Context) {
	u.busy, u.waiting = true, 0
	// The round continues even if the caller's context ends.
	ctx = context.WithoutCancel(ctx)
	u.rounds.Go(func() {
		u.round(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.busy = false
	})
}

// runEnded notes that a run has ended, so that the next round seals the run. If smithers.seal is off, runEnded
// does nothing.
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

// round seals the runs that ended since the last round. If objstore.Store.NeedsMerge asks for a merge, round
// merges packs. If the repository has many loose refs, round packs the refs. Errors are warnings.
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
		u.store.warn(fmt.Errorf("the packs of runs were not merged: %w", err))
	}
	if err := u.store.refs.PackIfMany(ctx); err != nil {
		u.store.warn(fmt.Errorf("the refs of runs were not packed: %w", err))
	}
}

// finish waits for a running round. If the store has written anything, finish then runs a last round. After the
// round, it removes a multi-pack-index of git that names removed packs. After manyEntries entries or more, finish brings
// the index up to date at the same time. finish returns when all of this is done. Errors are warnings.
func (u *upkeep) finish() {
	u.mu.Lock()
	writes, entries := u.writes, u.entries
	u.writes, u.entries, u.waiting = 0, 0, 0 // no rest starts a round any more
	u.mu.Unlock()
	u.rounds.Wait()
	if writes == 0 {
		return
	}
	u.rounds.Go(func() {
		u.round(context.Background())
		if err := u.store.objects.Settle(context.Background()); err != nil {
			u.store.warn(fmt.Errorf("the packs of runs were not merged: %w", err))
		}
	})
	if entries >= manyEntries {
		u.syncIndex()
	}
	u.rounds.Wait()
}

// syncIndex brings the index up to date. Errors are warnings.
func (u *upkeep) syncIndex() {
	index, err := u.store.Index(context.Background())
	if err == nil {
		err = index.Degraded()
	}
	if err != nil {
		u.store.warn(fmt.Errorf("the index was not updated: %w", err))
	}
}
