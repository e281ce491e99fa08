package refstest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	raceRounds = 12
	racers     = 8
)

// testRace checks that exactly one of several processes can move a ref from the same value: goroutines, each
// with its own DB, and one git update-ref. If packed is true, git pack-refs runs at the same time. The race
// has only one git update-ref, because two could both win: git reads packed-refs before it has the lock, and
// does not notice a new file with the same size, inode and modification second.
func testRace(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	ids := Objects(t, f.repo, 1+raceRounds*racers)
	f.repo.Git("update-ref", string(f.tip), ids[0].String())
	dbs := make([]*refs.DB, racers)
	for i := range dbs {
		dbs[i] = open(t, f.repo)
	}
	stop := func() {}
	if packed {
		stop = packLoop(t, f.repo)
	}
	defer stop()
	at := ids[0]
	for round := range raceRounds {
		at = raceRound(t, f, dbs, at, ids[1+round*racers:][:racers])
	}
	frames, err := f.db.Frames(t.Context(), "run")
	require.NoError(t, err)
	assert.Len(t, frames, 1+raceRounds, "a frame a round")
}

// raceRound runs one round and returns the new target of the tip. A winning goroutine also creates the frame
// of the round; if git wins, raceRound creates the frame.
func raceRound(t *testing.T, f *fixture, dbs []*refs.DB, at objstore.ID, ids []objstore.ID) objstore.ID {
	t.Helper()
	frames, err := f.db.Frames(t.Context(), "run")
	require.NoError(t, err)
	frame := Frame(t, "run", int64(len(frames)))
	var wins atomic.Int32
	var racing sync.WaitGroup
	for i, db := range dbs {
		racing.Go(func() {
			if i == racers-1 {
				if _, err := f.repo.GitErr("update-ref", string(f.tip), ids[i].String(), at.String()); err == nil {
					wins.Add(1)
				}
				return
			}
			err := db.Apply(t.Context(),
				refs.Update{Name: f.tip, Old: at, New: ids[i]}, refs.Update{Name: frame, New: ids[i]})
			if err == nil {
				wins.Add(1)
			} else if !errors.Is(err, refs.ErrConflict) && !errors.Is(err, refs.ErrLocked) {
				assert.NoError(t, err)
			}
		})
	}
	racing.Wait()
	require.Equal(t, int32(1), wins.Load(), "one winner a round")
	now, err := f.db.Resolve(t.Context(), f.tip)
	require.NoError(t, err)
	require.Contains(t, ids, now)
	Want(t, f.repo, f.db, f.tip, now)
	if _, err := f.db.Resolve(t.Context(), frame); errors.Is(err, refs.ErrNotFound) {
		require.NoError(t, f.db.Apply(t.Context(), refs.Update{Name: frame, New: now}), "git's own win makes no frame")
	}
	Want(t, f.repo, f.db, frame, now)
	return now
}

// packLoop runs git pack-refs again and again until the caller calls stop.
func packLoop(t *testing.T, repo *repotest.Repo) (stop func()) {
	t.Helper()
	var stopping atomic.Bool
	var packing sync.WaitGroup
	packing.Go(func() {
		for !stopping.Load() {
			_, err := repo.GitErr("pack-refs", "--all", "--prune")
			if repotest.RefFormat() == "files" { // git packs no tables that change meanwhile
				assert.NoError(t, err)
			}
		}
	})
	return func() {
		stopping.Store(true)
		packing.Wait()
	}
}
